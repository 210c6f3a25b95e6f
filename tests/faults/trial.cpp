#include "tests/faults/trial.h"

#include "core/trace/reader.h"
#include "core/trace/run_files.h"
#include "tests/faults/launch.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <ostream>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::faults {
namespace {

Read read_trace(const std::string& path) {
  Read read;
  std::unique_ptr<trace::TraceFile> file;
  const Status status = trace::TraceFile::open(path, file);
  EXPECT_TRUE(status.is_ok()) << status.message();
  if (!status.is_ok()) return read;
  read.definitions = file->definitions();
  for (const LocationDefinition& location : file->definitions().locations) {
    std::vector<Row>& rows = read.locations.emplace_back();
    const std::unique_ptr<CallStream> calls = file->calls(location.id);
    for (Call call; calls->next(call);) {
      Row row{.function = {}, .tag = -1, .depth = call.depth, .is_pending = call.is_pending};
      const RegionDefinition* region = file->definitions().region(call.region);
      row.function = region != nullptr ? region->name : "?";
      for (const Fact& fact : call.facts) {
        row.was_left |= fact.kind == FactKind::kLeft;
        const bool is_message = fact.kind == FactKind::kSend || fact.kind == FactKind::kRecv ||
                                fact.kind == FactKind::kSendRequest ||
                                fact.kind == FactKind::kRecvRequest ||
                                fact.kind == FactKind::kRecvComplete;
        if (is_message && row.tag == -1) row.tag = fact.tag;
      }
      rows.push_back(row);
    }
  }
  return read;
}

nlohmann::json report_of(const std::string& directory) {
  return nlohmann::json::parse(read_text(directory + "/report.json"), nullptr,
                               /*allow_exceptions=*/false);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Row& row) {
  out << row.function << " tag " << row.tag;
  if (row.depth != 0) out << " depth " << row.depth;
  return out << (row.is_pending ? " pending" : "");
}

std::uint64_t Read::call_count() const {
  std::uint64_t count = 0;
  for (const auto& rows : locations) count += rows.size();
  return count;
}

std::uint64_t Read::loss_count() const {
  std::uint64_t count = 0;
  for (const std::uint64_t loss : definitions.losses) count += loss;
  return count;
}

Trial& Trial::with(const std::string& entry) {
  environment_.push_back(entry);
  return *this;
}

Trial& Trial::runs_into(std::string directory) {
  run_directory_ = std::move(directory);
  return *this;
}

Trial& Trial::before_exec(std::function<void()> action) {
  before_exec_ = std::move(action);
  return *this;
}

Trial& Trial::ranks(int count) {
  ranks_ = count;
  return *this;
}

std::vector<std::string> Trial::common() const {
  mkdir(scratch().c_str(), 0700);
  std::vector<std::string> entries = launch_environment(ranks_);
  // Processes that start at the same time would share Open MPI's own directory.
  if (!is_mpich()) entries.push_back("OMPI_MCA_orte_tmpdir_base=" + directory_.path());
  return entries;
}

Command Trial::command(const std::string& preload) const {
  Command command;
  if (ranks_ != 0) {
    command.arguments = launcher();
    const std::vector<std::string> part = ranks_with(ranks_, preload);
    command.arguments.insert(command.arguments.end(), part.begin(), part.end());
  }
  command.arguments.insert(command.arguments.end(), {MEGASCOPE_TEST_VICTIM, mode_,
                                                     directory_ / "book", std::to_string(count_)});
  command.environment = common();
  if (ranks_ == 0 && !preload.empty()) command.environment.push_back("LD_PRELOAD=" + preload);
  command.directory = directory_.path();
  command.before_exec = before_exec_;
  return command;
}

Command Trial::bare() const { return command({}); }

Command Trial::preloaded() const { return preloaded_with(MEGASCOPE_TEST_LIBRARY); }

Command Trial::preloaded_with(const std::string& preload) const {
  Command command = this->command(preload);
  command.environment.push_back("MEGASCOPE_OUT=" + run_directory());
  command.environment.push_back("MEGASCOPE_SCRATCH=" + scratch());
  command.environment.emplace_back("MEGASCOPE_EXPORT=none");
  command.environment.insert(command.environment.end(), environment_.begin(), environment_.end());
  return command;
}

const Ledger* Trial::ledger(int rank) const {
  const std::string path = directory_ / ("book." + std::to_string(rank));
  return access(path.c_str(), R_OK) == 0 ? Ledger::open(path.c_str()) : nullptr;
}

Read Trial::trace(int rank) const {
  return read_trace(run_directory() + "/" + trace::trace_file_name(rank));
}

Read Trial::recovered(int rank) const {
  trace::RecoverResult result;
  const Status status = trace::recover_run(run_directory(), result);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return status.is_ok() ? trace(rank) : Read{};
}

std::int64_t Trial::report_number(const std::string& key) const {
  const nlohmann::json report = report_of(run_directory());
  return report.is_object() && report.contains(key) && report[key].is_number()
             ? report[key].get<std::int64_t>()
             : -1;
}

std::int64_t Trial::losses_reported() const {
  const nlohmann::json report = report_of(run_directory());
  if (!report.is_object() || !report.contains("losses")) return -1;
  std::int64_t sum = 0;
  for (const auto& loss : report["losses"]) sum += loss.get<std::int64_t>();
  return sum;
}

std::vector<Row> booked(const Ledger& ledger) {
  std::vector<Row> rows;
  const std::uint64_t count = ledger.count.load();
  for (std::uint64_t i = 0; i < count; ++i) {
    const Ledger::Entry& entry = ledger.entries[i];
    const bool has_size = entry.tag == -2;
    rows.push_back({.function = has_size ? "MPI_Comm_size" : kBookedNames[entry.fn],
                    .tag = has_size ? -1 : entry.tag,
                    .was_left = entry.fn == Ledger::kRecvLeft});
  }
  return rows;
}

void expect_ledger(const std::vector<Row>& rows, const Ledger& ledger) {
  const std::vector<Row> expected = booked(ledger);
  std::size_t returned = rows.size();
  if (!rows.empty() && rows.back().is_pending) --returned;
  EXPECT_GE(returned, expected.size());
  EXPECT_LE(returned, expected.size() + 1) << "more than one call that is not in the book";
  EXPECT_LE(rows.size(), expected.size() + 1);
  int shown = 0;
  for (std::size_t i = 0; i < expected.size() && i < returned && shown < 5; ++i) {
    const bool is_same = rows[i].function == expected[i].function && rows[i].tag == expected[i].tag;
    EXPECT_TRUE(is_same) << "call " << i << ": trace has " << rows[i] << ", book has "
                         << expected[i];
    shown += is_same ? 0 : 1;
  }
}

}  // namespace megascope::faults
