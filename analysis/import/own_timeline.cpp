#include "analysis/import/own_timeline.h"

#include "core/base/hash.h"
#include "core/clocks/clock_domain.h"
#include "core/record/collective_op.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>

namespace megascope::importer {
namespace {

constexpr std::int64_t kMaxRanks = std::int64_t{1} << 24;
constexpr double kMaxUs = 1e15;
constexpr double kMaxBytes = 9e15;

struct Collective {
  std::string_view name;
  CollectiveOp op;
};
constexpr Collective kCollectives[] = {
    {"MPI_Barrier", CollectiveOp::kBarrier},
    {"MPI_Bcast", CollectiveOp::kBcast},
    {"MPI_Gather", CollectiveOp::kGather},
    {"MPI_Gatherv", CollectiveOp::kGatherv},
    {"MPI_Scatter", CollectiveOp::kScatter},
    {"MPI_Scatterv", CollectiveOp::kScatterv},
    {"MPI_Allgather", CollectiveOp::kAllgather},
    {"MPI_Allgatherv", CollectiveOp::kAllgatherv},
    {"MPI_Alltoall", CollectiveOp::kAlltoall},
    {"MPI_Alltoallv", CollectiveOp::kAlltoallv},
    {"MPI_Alltoallw", CollectiveOp::kAlltoallw},
    {"MPI_Allreduce", CollectiveOp::kAllreduce},
    {"MPI_Reduce", CollectiveOp::kReduce},
    {"MPI_Reduce_scatter", CollectiveOp::kReduceScatter},
    {"MPI_Reduce_scatter_block", CollectiveOp::kReduceScatterBlock},
    {"MPI_Scan", CollectiveOp::kScan},
    {"MPI_Exscan", CollectiveOp::kExscan},
};

/// nullptr: not one, or nonblocking, which arrows show where they were completed.
const Collective* collective_of(std::string_view name) {
  const auto found = std::ranges::find(kCollectives, name, &Collective::name);
  return found != std::end(kCollectives) ? &*found : nullptr;
}

std::uint64_t bytes_in(const JsonEvent& event, const char* name) {
  const std::optional<double> value = event.argument(name);
  return value && *value >= 0 && *value <= kMaxBytes ? static_cast<std::uint64_t>(*value) : 0;
}

std::uint64_t ns_of(double time_us) {
  return static_cast<std::uint64_t>(std::llround(time_us * 1e3));
}

/// "n0" of "Rank 0 (n0)".
std::string host_in(const std::string& name) {
  const std::size_t begin = name.find('(');
  const bool is_ours = name.starts_with("Rank ") && begin != std::string::npos &&
                       name.ends_with(')');
  return is_ours ? name.substr(begin + 1, name.size() - begin - 2) : std::string();
}

Status read_rank(const JsonEvent& event, std::int32_t& rank) {
  const std::optional<double> number = event.number("pid");
  if (!number || *number != std::floor(*number) || *number < 0 || *number >= kMaxRanks)
    return Status::error("\"pid\" is not a rank");
  rank = static_cast<std::int32_t>(*number);
  return Status::ok();
}

}  // namespace

Status OwnTimeline::add(const JsonEvent& event) {
  const std::string& kind = event.text("cat");
  const std::string& phase = event.text("ph");
  if (phase == "M") return add_name(event);
  if (phase == "X" && (kind == "wait" || kind == "finding")) {
    ++annotation_count_;
    return Status::ok();
  }
  if (phase == "X") return add_call(event);
  const bool is_arrow = (phase == "s" || phase == "t" || phase == "f") &&
                        (kind == "message" || kind == "collective");
  if (is_arrow) return add_arrow(event);
  ++other_count_;
  return Status::ok();
}

Status OwnTimeline::add_name(const JsonEvent& event) {
  std::int32_t rank = 0;
  if (!read_rank(event, rank).is_ok()) return Status::ok();  // of findings
  if (event.text("name") == "process_name") hosts_[rank] = host_in(event.argument_text("name"));
  if (event.text("name") == "thread_name")
    track_names_[{rank, event.id("tid")}] = event.argument_text("name");
  return Status::ok();
}

OwnTimeline::TrackState& OwnTimeline::track_of(std::int32_t rank, const JsonEvent& event) {
  const auto [at, is_new] = tracks_.try_emplace({rank, event.id("tid")});
  if (is_new) {
    at->second.index = static_cast<std::uint32_t>(timeline_.tracks.size());
    timeline_.tracks.push_back({.coordinates = {.rank = rank}, .stream = "", .world_rank = rank});
  }
  return at->second;
}

void OwnTimeline::define_region(std::uint32_t name, const JsonEvent& event) {
  if (name < timeline_.regions.size() && !timeline_.regions[name].name.empty()) return;
  if (name >= timeline_.regions.size()) timeline_.regions.resize(name + std::size_t{1});
  const std::string& text = event.text("name");
  const std::string& kind = event.text("cat");
  RegionDefinition& region = timeline_.regions[name];
  region.name = text;
  region.group = kind;
  region.paradigm = text.starts_with("MPI_") ? Paradigm::kMpi : Paradigm::kUser;
  region.role = region.paradigm == Paradigm::kUser   ? RegionRole::kCode
                : kind == "p2p" || kind == "request" ? RegionRole::kPointToPoint
                                                     : RegionRole::kFunction;
  const Collective* collective = collective_of(text);
  if (collective == nullptr) return;
  region.role = role_of(collective->op);
  region.collective_op = collective->op;
}

Status OwnTimeline::add_call(const JsonEvent& event) {
  std::int32_t rank = 0;
  const Status status = read_rank(event, rank);
  if (!status.is_ok()) return status;
  const std::optional<double> begin_us = event.number("ts");
  const std::optional<double> length_us = event.number("dur");
  if (!begin_us || !(*begin_us >= 0 && *begin_us <= kMaxUs))
    return Status::error("\"ts\" is missing or out of range");
  if (!event.text("dur").empty() || event.list("dur") != nullptr)
    return Status::error("\"dur\" is not a number");
  if (length_us && !(std::fabs(*length_us) <= kMaxUs))
    return Status::error("\"dur\" is out of range");
  if (event.text("name").empty()) return Status::error("\"name\" is missing or empty");
  TrackState& track = track_of(rank, event);
  track.last = static_cast<std::uint32_t>(timeline_.operations.size());
  track.has_last = true;
  Operation operation{.begin_ns = ns_of(*begin_us),
                      .end_ns = ns_of(*begin_us) + ns_of(std::fabs(length_us.value_or(0.0))),
                      .name = timeline_.name_index(event.text("name")),
                      .track = track.index};
  define_region(operation.name, event);
  const std::optional<double> step = event.argument("step");
  if (step && *step >= 0 && *step <= INT32_MAX && *step == std::floor(*step))
    operation.step = static_cast<std::int32_t>(*step);
  timeline_.repairs.add_event();
  if (!length_us || *length_us < 0) {
    timeline_.repairs.add(length_us ? RepairKind::kNegativeDuration : RepairKind::kMissingDuration,
                          "event " + std::to_string(event.index()));
    timeline_.estimates.push_back(
        {track.last, length_us ? Estimate::Of::kSign : Estimate::Of::kEnd});
  }
  timeline_.operations.push_back(operation);
  specified_.push_back(
      {event.argument_text("comm"), bytes_in(event, "bytes"), bytes_in(event, "bytes_received")});
  return Status::ok();
}

/// In the file, an arrow follows the call at which it begins or ends.
Status OwnTimeline::add_arrow(const JsonEvent& event) {
  std::int32_t rank = 0;
  const Status status = read_rank(event, rank);
  if (!status.is_ok()) return status;
  const auto track = tracks_.find({rank, event.id("tid")});
  if (track == tracks_.end() || !track->second.has_last)
    return Status::error("an arrow has no call");
  Arrow& arrow = (event.text("cat") == "message" ? messages_ : collectives_)[event.text("id")];
  (event.text("ph") == "s" ? arrow.starts : arrow.ends).push_back(track->second.last);
  return Status::ok();
}

Status OwnTimeline::finish() {
  if (timeline_.operations.size() >= UINT32_MAX)
    return Status::error("it contains more than 2^32 calls");
  timeline_.has_grid = false;
  define_processes();
  add_messages();
  add_collectives();
  keep_facts();
  note_what_is_missing();
  return Status::ok();
}

/// Peers are recorded as world ranks, so that all messages are on one communicator of all ranks.
void OwnTimeline::define_processes() {
  std::map<std::int32_t, std::int32_t> index_of;
  std::int32_t size = 0;
  for (const Track& track : timeline_.tracks) size = std::max(size, track.coordinates.rank + 1);
  for (auto& [key, state] : tracks_) {
    const auto [rank, number] = key;
    const auto [at, is_new] = index_of.try_emplace(
        rank, static_cast<std::int32_t>(timeline_.definitions.size()));
    if (is_new) {
      CommDefinition world;
      world.id = 0;
      world.global_name = not_zero(clock_domain_id("world"));
      world.name = "MPI_COMM_WORLD";
      world.kind = CommKind::kWorld;
      world.my_rank = rank;
      world.members = {{0, 1, size}};
      timeline_.definitions.push_back({.host = hosts_[rank], .comms = {std::move(world)}});
    }
    Track& track = timeline_.tracks[state.index];
    track.definitions = at->second;
    const auto name = track_names_.find(key);
    track.stream = name != track_names_.end() ? name->second : "thread " + std::to_string(number);
  }
}

void OwnTimeline::add_messages() {
  std::int32_t tag = 0;
  for (const auto& [id, arrow] : messages_) {
    if (arrow.starts.size() != 1 || arrow.ends.size() != 1) {
      ++incomplete_count_;
      continue;
    }
    const std::uint32_t from = arrow.starts.front();
    const std::uint32_t to = arrow.ends.front();
    const std::uint64_t bytes = specified_[from].bytes;
    facts_.push_back(
        {from,
         {.kind = FactKind::kSend, .comm = 0, .peer = rank_of(to), .tag = tag, .bytes = bytes}});
    facts_.push_back(
        {to,
         {.kind = FactKind::kRecv, .comm = 0, .peer = rank_of(from), .tag = tag, .bytes = bytes}});
    tag = tag == INT32_MAX ? 0 : tag + 1;
  }
}

/// Calls of one collective, by its root, or by who begins it: the arrows to a root have a number
/// each.
std::map<std::uint32_t, std::set<std::uint32_t>> OwnTimeline::collect_instances() {
  std::map<std::uint32_t, std::set<std::uint32_t>> instances;
  for (const auto& [id, arrow] : collectives_) {
    const bool is_whole = arrow.starts.size() == 1 && !arrow.ends.empty();
    const Collective* collective = is_whole ? collective_of(name_of(arrow.starts.front()))
                                            : nullptr;
    if (collective == nullptr) {
      ++incomplete_count_;
      continue;
    }
    const bool is_to_root = data_flow_of(collective->op) == DataFlow::kToRoot;
    std::set<std::uint32_t>&
        instance = instances[is_to_root ? arrow.ends.front() : arrow.starts.front()];
    instance.insert(arrow.starts.front());
    instance.insert(arrow.ends.begin(), arrow.ends.end());
  }
  return instances;
}

/// A communicator is a name and its members; its collectives are counted in the order in which they
/// begin.
void OwnTimeline::add_collectives() {
  std::map<std::pair<std::string, std::vector<std::int32_t>>, std::vector<Instance>> comms;
  for (const auto& [root, operations] : collect_instances()) {
    Instance instance{
        .begin_ns = UINT64_MAX, .root = root, .operations = {operations.begin(), operations.end()}};
    std::ranges::sort(instance.operations, {},
                      [this](std::uint32_t operation) { return rank_of(operation); });
    std::vector<std::int32_t> members;
    bool is_one_call = true;
    for (const std::uint32_t operation : instance.operations) {
      is_one_call = is_one_call && (members.empty() || members.back() != rank_of(operation)) &&
                    name_of(operation) == name_of(root);
      members.push_back(rank_of(operation));
      instance.begin_ns = std::min(instance.begin_ns, timeline_.operations[operation].begin_ns);
    }
    if (is_one_call)
      comms[{specified_[root].comm, std::move(members)}].push_back(std::move(instance));
    else
      ++incomplete_count_;
  }
  for (auto& [key, instances] : comms) {
    std::ranges::sort(instances, {}, [](const Instance& instance) {
      return std::tuple(instance.begin_ns, instance.root);
    });
    add_comm(key.first, key.second, instances);
  }
}

void OwnTimeline::add_comm(const std::string& name, const std::vector<std::int32_t>& members,
                           const std::vector<Instance>& instances) {
  CommDefinition comm;
  comm.name = name;
  comm.kind = CommKind::kIntra;
  comm.parent = 0;
  comm.members = compress(members);
  std::uint64_t global_name = clock_domain_id(name);
  for (const std::int32_t member : members)
    global_name = combined(global_name, static_cast<std::uint64_t>(member));
  comm.global_name = not_zero(global_name);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Track& track = timeline_
                             .tracks[timeline_.operations[instances.front().operations[i]].track];
    std::vector<CommDefinition>&
        mine = timeline_.definitions[static_cast<std::size_t>(track.definitions)].comms;
    comm.id = static_cast<CommId>(mine.size());
    comm.my_rank = static_cast<std::int32_t>(i);
    mine.push_back(comm);
    std::uint32_t sequence = 0;
    for (const Instance& instance : instances) {
      const DataFlow flow = data_flow_of(collective_of(name_of(instance.root))->op);
      const bool has_root = flow == DataFlow::kToRoot || flow == DataFlow::kFromRoot;
      const auto root = std::ranges::find(instance.operations, instance.root) -
                        instance.operations.begin();
      const std::uint32_t operation = instance.operations[i];
      facts_.push_back({operation,
                        {.kind = FactKind::kCollective,
                         .comm = comm.id,
                         .sequence = sequence++,
                         .peer = has_root ? static_cast<std::int32_t>(root) : kNoPeer,
                         .bytes = specified_[operation].bytes,
                         .bytes_received = specified_[operation].bytes_received}});
    }
  }
}

void OwnTimeline::keep_facts() {
  std::ranges::stable_sort(facts_, {}, &std::pair<std::uint32_t, Fact>::first);
  auto next = facts_.begin();
  for (std::uint32_t i = 0; i < timeline_.operations.size(); ++i) {
    const std::size_t first = timeline_.facts.size();
    for (; next != facts_.end() && next->first == i; ++next)
      timeline_.facts.push_back(next->second);
    timeline_.specified.push_back({first, timeline_.facts.size() - first});
    timeline_.operations[i].specified = i + 1;
  }
}

void OwnTimeline::note_what_is_missing() {
  const auto note = [this](std::size_t count, const std::string& what) {
    if (count != 0) timeline_.notes.push_back(std::to_string(count) + " " + what);
  };
  timeline_.notes.emplace_back(
      "the file was written by megascope export: its run directory, if it still exists, "
      "contains more data");
  note(annotation_count_,
       "waits and findings of an analysis were omitted; megascope analyze finds them again");
  note(incomplete_count_,
       "messages and collectives were omitted: the file does not contain both ends, or they are "
       "nonblocking collectives");
  note(other_count_,
       "events are neither calls nor arrows (counters, marks, operations between their start and "
       "end) and were omitted");
}

}  // namespace megascope::importer
