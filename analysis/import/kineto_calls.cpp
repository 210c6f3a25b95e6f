#include "analysis/import/kineto_calls.h"

#include "core/base/hash.h"
#include "core/clocks/clock_domain.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace megascope::importer {
namespace {

using Kind = CommunicationName::Kind;

class CallKeeper {
 public:
  CallKeeper(Timeline& timeline, std::vector<KinetoCall> calls, const KinetoGroups& groups,
             std::int32_t world_size, const std::map<std::int32_t, std::int32_t>& definitions_of)
      : timeline_(timeline),
        calls_(std::move(calls)),
        groups_(groups),
        world_size_(world_size),
        definitions_of_(definitions_of) {
    std::ranges::sort(calls_, {}, [this](const KinetoCall& call) {
      return std::tuple(call.rank, begin_ns(call), call.operation);
    });
    take_once();
    facts_.resize(calls_.size());
  }

  void keep() {
    define_worlds();
    find_members();
    keep_messages();
    find_unlike();
    keep_collectives();
    store();
  }

 private:
  struct Comm {
    std::vector<std::int32_t> members;   ///< ascending
    std::map<std::int32_t, CommId> ids;  ///< by world rank
    std::uint32_t next_sequence = 0;
  };

  std::uint64_t begin_ns(const KinetoCall& call) const {
    return timeline_.operations[call.operation].begin_ns;
  }
  std::int32_t step(const KinetoCall& call) const {
    return timeline_.operations[call.operation].step;
  }
  std::vector<CommDefinition>& comms_of(std::int32_t rank) {
    return timeline_.definitions[static_cast<std::size_t>(definitions_of_.at(rank))].comms;
  }

  /// A call that is in the file twice did what it did once.
  void take_once() {
    std::vector<KinetoCall> once;
    for (KinetoCall& call : calls_) {
      const bool is_copy = !once.empty() && once.back().rank == call.rank &&
                           timeline_.operations[once.back().operation] ==
                               timeline_.operations[call.operation];
      if (is_copy)
        copies_.emplace_back(once.back().operation, call.operation);
      else
        once.push_back(std::move(call));
    }
    calls_ = std::move(once);
  }

  /// Peers of messages are ranks in the world.
  void define_worlds() {
    for (const auto& [rank, index] : definitions_of_) {
      CommDefinition world;
      world.id = 0;
      world.global_name = not_zero(clock_domain_id("world"));
      world.name = "world";
      world.kind = CommKind::kWorld;
      world.my_rank = rank;
      world.members = {{0, 1, world_size_}};
      comms_of(rank).push_back(std::move(world));
    }
  }

  /// Members of a group: from the file; else all ranks, if the group is as large as the world; else
  /// the ranks that call it.
  void find_members() {
    std::map<std::string, std::set<std::int32_t>> callers;
    for (const KinetoCall& call : calls_) {
      if (call.name.kind != Kind::kCollective) continue;
      callers[call.group].insert(call.rank);
      Comm& comm = comms_[call.group];
      if (comm.members.empty()) comm.members = call.members;
      const bool is_world = call.group.empty() || call.group_size == world_size_;
      if (comm.members.empty() && is_world) is_of_all_.insert(call.group);
    }
    for (auto& [group, comm] : comms_) {
      if (const auto specified = groups_.find(group); specified != groups_.end())
        comm.members = specified->second;
      std::ranges::sort(comm.members);
      const auto repeated = std::ranges::adjacent_find(comm.members);
      const std::set<std::int32_t>& who = callers[group];
      const bool is_sound = repeated == comm.members.end() &&
                            std::ranges::includes(comm.members, who);
      if (comm.members.empty() && is_of_all_.contains(group)) {
        for (std::int32_t rank = 0; rank < world_size_; ++rank) comm.members.push_back(rank);
      } else if (!is_sound) {
        comm.members.assign(who.begin(), who.end());
      }
      define(group, comm);
    }
  }

  void define(const std::string& group, Comm& comm) {
    std::uint64_t global_name = clock_domain_id("process group " + group);
    for (const std::int32_t member : comm.members)
      global_name = combined(global_name, static_cast<std::uint64_t>(member));
    const std::vector<RankRun> members = compress(comm.members);
    for (std::size_t i = 0; i < comm.members.size(); ++i) {
      if (!definitions_of_.contains(comm.members[i])) continue;
      std::vector<CommDefinition>& mine = comms_of(comm.members[i]);
      CommDefinition definition;
      definition.id = static_cast<CommId>(mine.size());
      definition.parent = 0;
      definition.global_name = not_zero(global_name);
      definition.name = group.empty() ? "all ranks" : "process group " + group;
      definition.kind = CommKind::kIntra;
      definition.my_rank = static_cast<std::int32_t>(i);
      definition.members = members;
      comm.ids[comm.members[i]] = definition.id;
      mine.push_back(std::move(definition));
    }
  }

  void keep_messages() {
    using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t,
                           std::uint32_t>;  // source, destination, step, number
    std::map<Key, std::int32_t> tags;
    std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, bool>, std::uint32_t> counts;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const KinetoCall& call = calls_[i];
      const bool is_send = call.name.kind == Kind::kSend;
      if ((!is_send && call.name.kind != Kind::kReceive) || call.peer < 0 ||
          call.peer >= world_size_ || call.peer == call.rank)
        continue;
      const std::int32_t source = is_send ? call.rank : call.peer;
      const std::int32_t destination = is_send ? call.peer : call.rank;
      const std::uint32_t number = counts[{source, destination, step(call), is_send}]++;
      const std::int32_t tag = tags.try_emplace({source, destination, step(call), number},
                                                static_cast<std::int32_t>(tags.size() & 0x7FFFFFFF))
                                   .first->second;
      facts_[i] = {.kind = is_send ? FactKind::kSend : FactKind::kRecv,
                   .comm = 0,
                   .peer = call.peer,
                   .tag = tag,
                   .bytes = is_send ? call.bytes_in : call.bytes_out};
      has_fact_.insert(i);
    }
  }

  /// Collectives whose group is unknown can be taken for collectives of all ranks only if all ranks
  /// that make such calls make equally many of each kind in a step. Finds the steps and kinds for
  /// which this does not hold.
  void find_unlike() {
    std::map<std::pair<std::int32_t, CollectiveOp>, std::map<std::int32_t, std::size_t>> counts;
    std::set<std::int32_t> ranks;
    for (const KinetoCall& call : calls_) {
      if (call.name.kind != Kind::kCollective || !call.group.empty()) continue;
      ++counts[{step(call), call.name.op}][call.rank];
      ranks.insert(call.rank);
    }
    for (const auto& [key, by_rank] : counts) {
      const auto is_other = [&by_rank = by_rank](const auto& count) {
        return count.second != by_rank.begin()->second;
      };
      if (by_rank.size() != ranks.size() || std::ranges::any_of(by_rank, is_other))
        unlike_.insert(key);
    }
    if (ranks.empty()) return;
    timeline_.notes.emplace_back(
        "collectives do not name their group (no \"Process Group Name\"): if all ranks have "
        "equally many of a kind in a step, these are assumed to be collectives of all ranks");
  }

  /// Instances are numbered in the order in which the first member begins.
  void keep_collectives() {
    using Key = std::tuple<std::string_view, bool, std::int64_t, CollectiveOp,
                           std::uint32_t>;  // group, has Seq, Seq or step, operation, number
    std::map<Key, std::vector<std::size_t>> instances;
    std::map<std::tuple<std::int32_t, std::string_view, bool, std::int64_t, CollectiveOp>,
             std::uint32_t>
        counts;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const KinetoCall& call = calls_[i];
      if (call.name.kind != Kind::kCollective ||
          (call.group.empty() && unlike_.contains({step(call), call.name.op})))
        continue;
      const bool has_sequence = call.sequence != kUnknown;
      const std::int64_t number = has_sequence ? call.sequence : step(call);
      const std::uint32_t
          repeated = counts[{call.rank, call.group, has_sequence, number, call.name.op}]++;
      instances[{call.group, has_sequence, number, call.name.op, repeated}].push_back(i);
    }
    std::vector<std::pair<std::uint64_t, const std::vector<std::size_t>*>> in_order;
    for (const auto& [key, members] : instances) {
      std::uint64_t first_ns = UINT64_MAX;
      for (const std::size_t i : members) first_ns = std::min(first_ns, begin_ns(calls_[i]));
      in_order.emplace_back(first_ns, &members);
    }
    std::ranges::stable_sort(in_order, {},
                             &std::pair<std::uint64_t, const std::vector<std::size_t>*>::first);
    for (const auto& [first_ns, members] : in_order) {
      Comm& comm = comms_.at(calls_[members->front()].group);
      for (const std::size_t i : *members) {
        const KinetoCall& call = calls_[i];
        facts_[i] = {.kind = FactKind::kCollective,
                     .comm = comm.ids.at(call.rank),
                     .sequence = comm.next_sequence,
                     .peer = kNoPeer,
                     .bytes = call.bytes_in,
                     .bytes_received = call.bytes_out};
        has_fact_.insert(i);
      }
      ++comm.next_sequence;
    }
  }

  void store() {
    timeline_.specified.assign(1, {});
    for (Operation& operation : timeline_.operations) operation.specified = 1;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!has_fact_.contains(i)) continue;
      timeline_.specified.push_back({timeline_.facts.size(), 1});
      timeline_.operations[calls_[i].operation].specified = static_cast<std::uint32_t>(
          timeline_.specified.size());
      timeline_.facts.push_back(facts_[i]);
    }
    for (const auto& [first, copy] : copies_)
      timeline_.operations[copy].specified = timeline_.operations[first].specified;
  }

  Timeline& timeline_;
  std::vector<KinetoCall> calls_;
  const KinetoGroups& groups_;
  std::int32_t world_size_;
  const std::map<std::int32_t, std::int32_t>& definitions_of_;
  std::map<std::string, Comm> comms_;
  std::set<std::string> is_of_all_;
  std::set<std::pair<std::int32_t, CollectiveOp>> unlike_;  ///< step, operation
  std::vector<Fact> facts_;                                 ///< by call
  std::vector<std::pair<std::size_t, std::size_t>>
      copies_;  ///< operations: the first, the same again
  std::set<std::size_t> has_fact_;
};

}  // namespace

void keep_calls(Timeline& timeline, std::vector<KinetoCall> calls, const KinetoGroups& groups,
                std::int32_t world_size,
                const std::map<std::int32_t, std::int32_t>& definitions_of) {
  CallKeeper(timeline, std::move(calls), groups, world_size, definitions_of).keep();
}

}  // namespace megascope::importer
