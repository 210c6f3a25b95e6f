#include "analysis/import/megascan_definitions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

namespace megascope::importer {
namespace {

constexpr std::int64_t kMaxRanks = 1 << 24;
constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;  // of a number in JSON

/// An integer within the limits; an error names the key.
template <class Number>
Status take(std::optional<double> value, const char* key, std::int64_t least, std::int64_t most,
            Number& number) {
  const bool is_good = value && *value == std::floor(*value) &&
                       *value >= static_cast<double>(least) && *value <= static_cast<double>(most);
  if (!is_good)
    return Status::error("\"" + std::string(key) +
                         "\" is missing, not an integer, or out of range");
  number = static_cast<Number>(*value);
  return Status::ok();
}

/// A list of groups of `width` numbers; empty where there is none.
Status take_list(const JsonEvent& row, const char* key, std::size_t width,
                 std::vector<double>& values) {
  const std::vector<double>* const list = row.list(key);
  values = list == nullptr ? std::vector<double>() : *list;
  return values.size() % width == 0 ? Status::ok()
                                    : Status::error("\"" + std::string(key) + "\" does not have " +
                                                    std::to_string(width) + " numbers per entry");
}

Status take_ranks(const JsonEvent& row, const char* key, std::vector<RankRun>& runs) {
  std::vector<double> values;
  Status status = take_list(row, key, 3, values);
  std::int64_t ranks = 0;
  for (std::size_t i = 0; i + 2 < values.size() && status.is_ok(); i += 3) {
    RankRun run;
    status = take(values[i], key, 0, kMaxRanks - 1, run.first);
    status.update(take(values[i + 1], key, -kMaxRanks, kMaxRanks, run.stride));
    status.update(take(values[i + 2], key, 0, kMaxRanks, run.count));
    const std::int64_t last = run.first + std::int64_t{run.stride} * std::max(run.count - 1, 0);
    ranks += run.count;
    if (last < 0 || last >= kMaxRanks || ranks > kMaxRanks)
      status.update(Status::error("\"" + std::string(key) + "\" has ranks beyond 2^24"));
    runs.push_back(run);
  }
  return status;
}

template <class Enum>
Status take_enum(const JsonEvent& row, const char* key, Enum last, Enum& value) {
  std::uint8_t number = 0;
  const Status status = take(row.number(key), key, 0, static_cast<std::int64_t>(last), number);
  value = static_cast<Enum>(number);
  return status;
}

}  // namespace

Status MegascanDefinitions::add(const JsonEvent& row) {
  const std::string& name = row.text("name");
  if (name == "process") return add_process(row);
  if (!are_specified()) return Status::ok();
  if (name == "region") return add_region(row);
  return name == "communicator" ? add_comm(row) : Status::ok();
}

Status MegascanDefinitions::add_process(const JsonEvent& row) {
  const std::vector<double>* const sizes = row.list("sizes");
  if (sizes == nullptr) return Status::ok();  // a tick of MegaScan's
  if (are_specified()) return Status::error("the file contains more than one process");
  if (sizes->size() != 3) return Status::error("\"sizes\" must be the sizes of dp, pp and tp");
  Status status;
  std::size_t at = 0;
  for (std::int32_t* const size : {&timeline_.sizes.dp, &timeline_.sizes.pp, &timeline_.sizes.tp}) {
    std::int32_t specified = 0;
    status.update(take((*sizes)[at++], "sizes", 1, kMaxRanks, specified));
    *size = std::max(*size, specified);
  }
  index_ = static_cast<std::int32_t>(timeline_.definitions.size());
  timeline_.definitions.push_back({.host = row.text("host"), .comms = {}});
  main_stream_ = row.text("stream");
  return status;
}

Status MegascanDefinitions::add_region(const JsonEvent& row) {
  RegionDefinition region;
  region.name = row.text("region");
  region.group = row.text("kind");
  if (region.name.empty()) return Status::error("a region has no name");
  Status status = take_enum(row, "role", RegionRole::kCode, region.role);
  status.update(take_enum(row, "paradigm", Paradigm::kMeasurement, region.paradigm));
  status.update(take_enum(row, "op", CollectiveOp::kDestroyHandle, region.collective_op));
  const std::uint32_t index = timeline_.name_index(region.name);
  if (index >= timeline_.regions.size()) timeline_.regions.resize(index + std::size_t{1});
  timeline_.regions[index] = std::move(region);
  return status;
}

Status MegascanDefinitions::add_comm(const JsonEvent& row) {
  std::vector<CommDefinition>& comms = definitions().comms;
  CommDefinition comm;
  Status status = take(row.number("comm"), "comm", 0, kMaxRanks, comm.id);
  if (status.is_ok() && comm.id != comms.size())
    return Status::error("\"comm\" does not follow the previous communicator");
  status.update(take_enum(row, "kind", CommKind::kRemote, comm.kind));
  status.update(take(row.number("my_rank"), "my_rank", kNoPeer, kMaxRanks, comm.my_rank));
  if (row.has("parent"))
    status.update(take(row.number("parent"), "parent", 0, kMaxRanks, comm.parent));
  const std::string& name = row.text("global_name");
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(),
                                            comm.global_name, 16);
  if (error != std::errc{} || end != name.data() + name.size())
    status.update(Status::error("\"global_name\" is not a hexadecimal number"));
  comm.name = row.text("comm_name");
  status.update(take_ranks(row, "members", comm.members));
  status.update(take_ranks(row, "remote_members", comm.remote_members));
  comms.push_back(std::move(comm));
  return status;
}

Status MegascanDefinitions::add_messages(const JsonEvent& row, const char* key, FactKind kind) {
  std::vector<double> values;
  Status status = take_list(row, key, 4, values);
  const auto comm_count = static_cast<std::int64_t>(definitions().comms.size());
  for (std::size_t i = 0; i + 3 < values.size() && status.is_ok(); i += 4) {
    Fact fact;
    fact.kind = kind;
    status = take(values[i], key, 0, comm_count - 1, fact.comm);
    status.update(take(values[i + 1], key, kNoPeer, kMaxRanks, fact.peer));
    status.update(take(values[i + 2], key, INT32_MIN, INT32_MAX, fact.tag));
    status.update(take(values[i + 3], key, 0, kMaxExact, fact.bytes));
    timeline_.facts.push_back(fact);
  }
  return status;
}

Status MegascanDefinitions::add_collectives(const JsonEvent& row) {
  constexpr const char* kKey = "collectives";
  std::vector<double> values;
  Status status = take_list(row, kKey, 5, values);
  const auto comm_count = static_cast<std::int64_t>(definitions().comms.size());
  for (std::size_t i = 0; i + 4 < values.size() && status.is_ok(); i += 5) {
    Fact fact;
    fact.kind = FactKind::kCollective;
    status = take(values[i], kKey, 0, comm_count - 1, fact.comm);
    status.update(take(values[i + 1], kKey, 0, UINT32_MAX, fact.sequence));
    status.update(take(values[i + 2], kKey, kProcNullRoot, kMaxRanks, fact.peer));
    status.update(take(values[i + 3], kKey, 0, kMaxExact, fact.bytes));
    status.update(take(values[i + 4], kKey, 0, kMaxExact, fact.bytes_received));
    timeline_.facts.push_back(fact);
  }
  return status;
}

Status MegascanDefinitions::report(const JsonEvent& row, Operation& operation) {
  const std::size_t first = timeline_.facts.size();
  Status status = add_messages(row, "sends", FactKind::kSend);
  if (status.is_ok()) status = add_messages(row, "receives", FactKind::kRecv);
  if (status.is_ok()) status = add_collectives(row);
  timeline_.specified.push_back({first, timeline_.facts.size() - first});
  operation.specified = static_cast<std::uint32_t>(timeline_.specified.size());
  return status;
}

}  // namespace megascope::importer
