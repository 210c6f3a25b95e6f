#include "tests/mpi/recorded.h"

#include "core/record/value_fact.h"
#include "tests/mpi/file_words.h"
#include "tests/mpi/packed_again.h"
#include "tests/mpi/rma_words.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace megascope::mpitest {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

std::string name_of(const ProcessDefinitions& process, CommId id) {
  const CommDefinition* comm = process.comm(id);
  if (comm == nullptr) return "unknown comm " + number(id);
  if (comm->kind == CommKind::kWorld) return "world";
  if (comm->kind == CommKind::kSelf) return "self";
  return comm->name;
}

std::string source_text(std::int32_t peer) { return peer == kAnySource ? "any" : number(peer); }
std::string tag_text(std::int32_t tag) { return tag == kAnyTag ? "any" : number(tag); }

std::string root_text(std::int32_t root) {
  if (root == kNoPeer) return "";
  return " root " + (root == kSelfRoot ? "self" : root == kProcNullRoot ? "null" : number(root));
}

/// Takes a number among the collectives of its communicator, and is no collective of data.
bool is_other_start(const Fact& fact) {
  return fact.kind == FactKind::kWinCreated || fact.kind == FactKind::kFileOpened ||
         (fact.kind == FactKind::kFileCollective && fact.comm != kNoComm);
}

/// Facts in words, for one rank and scenario.
class Words {
 public:
  Words(const ProcessDefinitions& process,
        const std::map<CommId, std::uint32_t>& collectives_before)
      : process_(process), collectives_before_(collectives_before) {}

  std::string line(const Call& call) {
    const RegionDefinition* region = process_.region(call.region);
    std::string words = region != nullptr ? region->name : "unknown region";
    if (call.comm != kNoComm) words += " on " + name_of(process_, call.comm);
    if (call.depth != 0) words += " depth " + number(call.depth);
    if (call.count > 1) words += " times " + number(call.count);
    if (call.is_pending) words += " pending";
    const char* separator = " | ";
    for (const Fact& fact : call.facts) {
      makings_[fact.comm] += is_other_start(fact) ? 1 : 0;
      if (fact.kind == FactKind::kFileCollective) continue;
      if (fact.kind == FactKind::kValue) continue;
      words += separator + fact_text(fact, call.comm);
      separator = "; ";
    }
    return words + values(call);
  }

 private:
  static std::string numbered(const char* prefix, std::map<std::int64_t, std::size_t>& known,
                              std::int64_t value) {
    return prefix + std::to_string(known.emplace(value, known.size() + 1).first->second);
  }
  std::string value_text(ValueName name, std::int64_t value) {
    const bool is_error = name == ValueName::kErrorCode || name == ValueName::kErrorClass;
    if (name == ValueName::kKeyval) return numbered("k", keys_, value);
    return is_error && value > MPI_ERR_LASTCODE ? numbered("e", errors_, value) : number(value);
  }
  /// " {rank 1, coordinate_0 3}"; attribute keys and the program's own error codes in the order of
  /// their appearance: k1, e1.
  std::string values(const Call& call) {
    std::string words;
    for (const Fact& fact : call.facts) {
      if (fact.kind != FactKind::kValue) continue;
      words += (words.empty() ? " {" : ", ") + std::string(value_name(value_name_of(fact))) + " ";
      words += value_text(value_name_of(fact), value_of(fact));
    }
    return words.empty() ? words : words + "}";
  }
  std::string request(const Fact& fact) {
    return " r" +
           std::to_string(requests_.emplace(fact.request, requests_.size() + 1).first->second);
  }
  std::string place(const Fact& fact, CommId call_comm) {
    return fact.comm == call_comm ? ""
           : fact.comm == kNoComm ? " in no comm"
                                  : " in " + name_of(process_, fact.comm);
  }
  std::string message(const Fact& fact, const char* direction, const char* amount) {
    return std::string(" ") + direction + " " + source_text(fact.peer) + " tag " +
           tag_text(fact.tag) + " " + amount + " " + number(static_cast<std::int64_t>(fact.bytes));
  }
  std::string collective(const Fact& fact) {
    const auto before = collectives_before_.find(fact.comm);
    const std::int64_t first = (before != collectives_before_.end() ? before->second : 0) +
                               makings_[fact.comm];
    return " #" + number(fact.sequence - first) + root_text(fact.peer) + " sent " +
           number(static_cast<std::int64_t>(fact.bytes)) + " received " +
           number(static_cast<std::int64_t>(fact.bytes_received));
  }

  std::string one_sided(const Fact& fact, const std::string& in) {
    if (fact.kind == FactKind::kRmaComplete) return "done" + request(fact);
    std::string window = " no window";
    if (window_of(fact) != kNoWin) {
      window = " w" +
               std::to_string(windows_.emplace(window_of(fact), windows_.size() + 1).first->second);
    }
    return rma_text(fact, process_, has_rma_request(fact.kind) ? request(fact) : "", window + in);
  }

  std::string fact_text(const Fact& fact, CommId call_comm) {
    const std::string in = place(fact, call_comm);
    if (is_file_fact(fact.kind)) {
      return file_text(fact, process_.file(file_of(fact)),
                       fact.request != kNoRequest ? request(fact) : "") +
             in;
    }
    if (is_rma(fact.kind)) return one_sided(fact, in);
    switch (fact.kind) {
      case FactKind::kSend:
        return "send" + in + message(fact, "to", "bytes");
      case FactKind::kRecv:
        return "recv" + (fact.request != kNoRequest ? request(fact) : "") + in +
               message(fact, "from", "bytes");
      case FactKind::kSendRequest:
        return "isend" + request(fact) + in + message(fact, "to", "bytes");
      case FactKind::kRecvRequest:
        return "irecv" + request(fact) + in + message(fact, "from", "space");
      case FactKind::kSendComplete:
        return "sent" + request(fact);
      case FactKind::kRecvComplete:
        return "received" + request(fact) + in + message(fact, "from", "bytes");
      case FactKind::kCancelled:
        return "cancelled" + request(fact);
      case FactKind::kRequestTest:
        return "tested" + request(fact);
      case FactKind::kRequestFreed:
        return "freed" + request(fact);
      case FactKind::kCollective:
        return "coll" + in + collective(fact);
      case FactKind::kCollectiveRequest:
        return "icoll" + request(fact) + in + collective(fact);
      case FactKind::kCollectiveComplete:
        return "done" + request(fact) + in + collective(fact);
      case FactKind::kCommCreated:
        return "created " + name_of(process_, fact.comm);
      case FactKind::kCommFreed:
        return "ended " + name_of(process_, fact.comm);
      case FactKind::kError:
        return "error " + number(static_cast<std::int64_t>(fact.bytes));
      case FactKind::kProbed:
        return "found" + in + message(fact, "from", "bytes");
      case FactKind::kRequestReady:
        return "ready" + request(fact) +
               (fact.peer == kNoPeer ? "" : in + message(fact, "from", "bytes"));
      case FactKind::kCancelRequested:
        return "cancels" + request(fact);
      case FactKind::kMatched:
        return "matched" + request(fact) + in + message(fact, "from", "bytes");
      case FactKind::kLeft:
        return "left";
      case FactKind::kLocalBytes:
        return "here bytes " + number(static_cast<std::int64_t>(fact.bytes));
      case FactKind::kPersistentInit:
        return "init" + request(fact) + in + message(fact, "peer", "bytes");
      default:
        return "fact of kind " + number(static_cast<int>(fact.kind));
    }
  }

  const ProcessDefinitions& process_;
  const std::map<CommId, std::uint32_t>& collectives_before_;
  std::map<RequestId, std::size_t> requests_;
  std::map<WinId, std::size_t> windows_;
  std::map<CommId, std::uint32_t>
      makings_;  ///< of windows, and openings of files: numbers that lines do not show
  std::map<std::int64_t, std::size_t> keys_;
  std::map<std::int64_t, std::size_t> errors_;
};

struct OwnedCall {
  Call call;
  std::vector<Fact> facts;
};

std::vector<OwnedCall> read_location(const RecordSource& source, int rank, LocationId location) {
  std::vector<OwnedCall> calls;
  const std::unique_ptr<CallStream> stream = source.calls(rank, location);
  for (Call call; stream->next(call);) {
    EXPECT_LE(call.enter_ns, call.leave_ns);
    if (!calls.empty()) {
      EXPECT_LE(calls.back().call.enter_ns, call.enter_ns) << "not in order of entry";
      const bool are_siblings = calls.back().call.depth == 0 && call.depth == 0;
      EXPECT_TRUE(!are_siblings || calls.back().call.leave_ns <= call.enter_ns)
          << "entered before the last one was left";
    }
    calls.push_back({call, {call.facts.begin(), call.facts.end()}});
    calls.back().call.facts = {};
  }
  for (OwnedCall& owned : calls) owned.call.facts = owned.facts;
  return calls;
}

/// Of the main thread: what starts and ends everything.
void check_frame(const ProcessDefinitions& process, const std::vector<OwnedCall>& calls) {
  const auto name = [&](const OwnedCall& call) { return process.region(call.call.region)->name; };
  ASSERT_GE(calls.size(), 2u);
  EXPECT_EQ(name(calls.front()),
            process.info.thread_level == MPI_THREAD_SINGLE ? "MPI_Init" : "MPI_Init_thread");
  EXPECT_EQ(name(calls.back()), "MPI_Finalize");
}

bool is_start_of_collective(const Fact& fact) {
  return fact.kind == FactKind::kCollective || fact.kind == FactKind::kCollectiveRequest ||
         is_other_start(fact);
}

}  // namespace

Recorded::Recorded(const std::string& directory, int rank_count, std::size_t scenario_count)
    : rank_count_(rank_count) {
  std::vector<std::string> problems;
  const Status status = trace::RunSource::open(directory, {}, source_, problems);
  EXPECT_TRUE(status.is_ok()) << status.message();
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
  if (!status.is_ok()) return;
  EXPECT_EQ(source_->world_size(), rank_count);
  lines_.resize(static_cast<std::size_t>(rank_count));
  recorded_.resize(static_cast<std::size_t>(rank_count));
  for (int rank = 0; rank < rank_count; ++rank) read_rank(rank, scenario_count);
  check_comms();
  check_files();
  check_windows();
  expect_same_when_packed(directory);
}

void Recorded::read_rank(int rank, std::size_t scenario_count) {
  const ProcessDefinitions& process = source_->process(rank);
  EXPECT_EQ(process.losses, Losses{}) << "rank " << rank;
  EXPECT_EQ(process.info.end_state, EndState::kFinalized);
  std::vector<std::vector<OwnedCall>> locations;
  for (const LocationDefinition& location : process.locations) {
    locations.push_back(read_location(*source_, rank, location.id));
  }
  auto& scenarios = lines_[static_cast<std::size_t>(rank)];
  scenarios.resize(scenario_count);
  check_frame(process, locations.at(0));
  // The main thread's markers cut the time of all threads.
  std::vector<std::uint64_t> starts_ns;
  std::map<CommId, std::uint32_t> collectives;
  std::vector<std::map<CommId, std::uint32_t>> collectives_before;
  for (const OwnedCall& owned : locations.at(0)) {
    const RegionDefinition* region = process.region(owned.call.region);
    if (region != nullptr && region->name == kBeginMarker) {
      starts_ns.push_back(owned.call.leave_ns);
      collectives_before.push_back(collectives);
    }
    for (const Fact& fact : owned.facts)
      collectives[fact.comm] += is_start_of_collective(fact) ? 1 : 0;
  }
  ASSERT_EQ(starts_ns.size(), scenario_count);
  starts_ns.push_back(UINT64_MAX);
  for (std::size_t scenario = 0; scenario < scenario_count; ++scenario) {
    Words words(process, collectives_before[scenario]);
    for (LocationId location = 0; location < locations.size(); ++location) {
      for (const OwnedCall& owned : locations[location]) {
        const std::uint64_t time_ns = owned.call.enter_ns;
        if (time_ns < starts_ns[scenario] || time_ns >= starts_ns[scenario + 1]) continue;
        scenarios[scenario][location].push_back(words.line(owned.call));
      }
    }
    Lines& main = scenarios[scenario][0];
    const auto is_marker = [](const std::string& line) {
      return line.starts_with(kBeginMarker) || line == "MPI_Finalize";
    };
    std::erase_if(main, is_marker);
    const bool has_end = !main.empty() && main.back().starts_with(kEndMarker);
    EXPECT_TRUE(has_end) << "rank " << rank << ", scenario " << scenario;
    if (has_end) main.pop_back();
    recorded_[static_cast<std::size_t>(rank)].push_back(main);
    for (auto& [location, lines] : scenarios[scenario]) {
      for (std::string& line : lines) line = without_values(line);
    }
  }
}

/// Every member of a communicator has it once, under one name that no other communicator has.
void Recorded::check_comms() const {
  struct Seen {
    std::set<std::vector<std::int32_t>> sides;
    std::multiset<std::int32_t> holders;
  };
  std::map<std::uint64_t, Seen> by_name;
  for (int rank = 0; rank < rank_count_; ++rank) {
    for (const CommDefinition& comm : source_->process(rank).comms) {
      const std::vector<std::int32_t> members = expand(comm.members);
      Seen& seen = by_name[comm.global_name];
      seen.sides.insert(members);
      if (comm.kind == CommKind::kInter) seen.sides.insert(expand(comm.remote_members));
      seen.holders.insert(rank);
      const auto my_rank = static_cast<std::size_t>(comm.my_rank);
      EXPECT_TRUE(my_rank < members.size() && members[my_rank] == rank)
          << comm.name << " on rank " << rank;
    }
  }
  for (const auto& [global_name, seen] : by_name) {
    std::multiset<std::int32_t> members;
    for (const auto& side : seen.sides) members.insert(side.begin(), side.end());
    EXPECT_EQ(members, seen.holders) << "global name " << global_name;
  }
}

/// What was opened on a communicator has one name in all of its members, and one only there.
void Recorded::check_files() const {
  std::map<std::uint64_t, std::multiset<std::int32_t>> holders;
  std::map<std::uint64_t, std::multiset<std::int32_t>> members;
  for (int rank = 0; rank < rank_count_; ++rank) {
    const ProcessDefinitions& process = source_->process(rank);
    for (const FileDefinition& file : process.files) {
      const CommDefinition* comm = process.comm(file.comm);
      if (comm == nullptr) continue;
      std::multiset<std::int32_t> all;
      for (const std::int32_t member : expand(comm->members)) all.insert(member);
      for (const std::int32_t member : expand(comm->remote_members)) all.insert(member);
      holders[file.global_name].insert(rank);
      members[file.global_name] = all;
    }
  }
  EXPECT_EQ(holders, members) << "global names of files";
}

/// Every member of a window's communicator has it once, made on the same communicator in the same
/// way.
void Recorded::check_windows() const {
  struct Seen {
    std::set<std::uint64_t> comms;
    std::set<WindowFlavor> flavors;
    std::multiset<std::int32_t> members, holders;
  };
  std::map<std::uint64_t, Seen> by_name;
  for (int rank = 0; rank < rank_count_; ++rank) {
    for (const WindowDefinition& window : source_->process(rank).windows) {
      const CommDefinition* comm = source_->process(rank).comm(window.comm);
      ASSERT_NE(comm, nullptr) << window.name;
      Seen& seen = by_name[window.global_name];
      seen.comms.insert(comm->global_name);
      seen.flavors.insert(window.flavor);
      seen.holders.insert(rank);
      const std::vector<std::int32_t> members = expand(comm->members);
      seen.members = {members.begin(), members.end()};
    }
  }
  for (const auto& [global_name, seen] : by_name) {
    EXPECT_EQ(seen.members, seen.holders) << "global name " << global_name;
    EXPECT_EQ(seen.comms.size(), 1u);
    EXPECT_EQ(seen.flavors.size(), 1u);
  }
}

std::string without_values(const std::string& line) { return line.substr(0, line.find(" {")); }

const Lines& Recorded::recorded(int rank) const {
  return recorded_.at(static_cast<std::size_t>(rank)).at(scenario_);
}

const Lines& Recorded::lines(int rank, std::size_t location) const {
  static const Lines kNone;
  const auto& by_location = lines_.at(static_cast<std::size_t>(rank)).at(scenario_);
  if (location >= by_location.size()) return kNone;
  return std::next(by_location.begin(), static_cast<std::ptrdiff_t>(location))->second;
}

std::size_t Recorded::location_count(int rank) const {
  return lines_.at(static_cast<std::size_t>(rank)).at(scenario_).size();
}

CommDefinition Recorded::comm(int rank, const std::string& name) const {
  std::vector<CommDefinition> found;
  for (const CommDefinition& comm : process(rank).comms) {
    if (name_of(process(rank), comm.id) == name) found.push_back(comm);
  }
  EXPECT_EQ(found.size(), 1u) << name << " on rank " << rank;
  return found.empty() ? CommDefinition{} : found[0];
}

}  // namespace megascope::mpitest
