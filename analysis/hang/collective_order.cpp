#include "analysis/hang/collective_order.h"

#include "core/record/merged_calls.h"

#include <algorithm>
#include <map>
#include <memory>

namespace megascope::analysis {
namespace {

struct Member {
  std::int32_t world_rank = 0;
  Slot slot = kNoSlot;
  const CommProgress* progress = nullptr;
};

/// The collectives of one member on one communicator, one after the other.
class CollectiveStream {
 public:
  CollectiveStream(const Processes& processes, const Member& member)
      : processes_(processes),
        member_(member),
        calls_(*processes.source, member.world_rank),
        definitions_(*processes.find(member.world_rank)->definitions) {
    advance();
  }

  std::int32_t world_rank() const { return member_.world_rank; }
  bool is_at_end() const { return is_at_end_; }
  std::uint32_t sequence() const { return sequence_; }
  const CollectiveShape& shape() const { return shape_; }

  void advance() {
    LocationId location = 0;
    while (const Call* call = calls_.next(location)) {
      if (take(*call, call->facts) || take(*call, call->posted)) return;
    }
    is_at_end_ = true;
  }

 private:
  bool take(const Call& call, std::span<const Fact> facts) {
    bool is_taken = false;
    for_each_collective(definitions_, facts, [&](const CollectiveStep& step) {
      if (is_taken || step.slot != member_.slot) return;
      is_taken = true;
      sequence_ = step.sequence;
      shape_ = shape_of(processes_.function(member_.world_rank, call.region),
                        *comm_of_slot(definitions_, step.slot), step.collective);
    });
    return is_taken;
  }

  const Processes& processes_;
  Member member_;
  MergedCalls calls_;
  const ProcessDefinitions& definitions_;
  std::uint32_t sequence_ = 0;
  CollectiveShape shape_;
  bool is_at_end_ = false;
};

/// Do the hashes of all members agree, each up to its last collective?
bool agree_by_hash(const std::vector<Member>& members) {
  const Member& longest = *std::ranges::max_element(
      members, {}, [](const Member& member) { return member.progress->count; });
  return std::ranges::all_of(members, [&](const Member& member) {
    std::uint64_t mine = 0;
    std::uint64_t theirs = 0;
    const std::uint32_t count = member.progress->count;
    return member.progress->sum_of_first(count, mine) &&
           longest.progress->sum_of_first(count, theirs) && mine == theirs;
  });
}

using Streams = std::vector<std::unique_ptr<CollectiveStream>>;

std::vector<Mismatch::Participant> participants_at(const Streams& streams, std::uint32_t sequence) {
  std::vector<Mismatch::Participant> participants;
  for (const auto& stream : streams) {
    if (stream->is_at_end() || stream->sequence() != sequence) continue;
    auto participant = std::ranges::find_if(participants, [&](const Mismatch::Participant& known) {
      return do_match(known.shape, stream->shape());
    });
    if (participant == participants.end())
      participant = participants.insert(participant, {.shape = stream->shape(), .world_ranks = {}});
    participant->world_ranks.push_back(stream->world_rank());
  }
  return participants;
}

void put_largest_first(Mismatch& mismatch) {
  std::ranges::stable_sort(mismatch.participants,
                           [](const Mismatch::Participant& a, const Mismatch::Participant& b) {
                             return a.world_ranks.size() > b.world_ranks.size();
                           });
}

Mismatch::What what_differs(const std::vector<Mismatch::Participant>& participants) {
  const CollectiveShape& first = participants.front().shape;
  const auto differs = [&](auto member) {
    return std::ranges::any_of(participants, [&](const Mismatch::Participant& participant) {
      return participant.shape.*member != first.*member;
    });
  };
  if (differs(&CollectiveShape::function)) return Mismatch::What::kFunction;
  return differs(&CollectiveShape::root) ? Mismatch::What::kRoot : Mismatch::What::kBytes;
}

/// Reads all members' collectives side by side. False: those that can be compared are alike.
bool walk(const Processes& processes, const std::vector<Member>& members, Mismatch& mismatch) {
  Streams streams;
  for (const Member& member : members)
    streams.push_back(std::make_unique<CollectiveStream>(processes, member));
  for (;;) {
    std::erase_if(streams, [](const auto& stream) { return stream->is_at_end(); });
    if (streams.size() < 2) return false;
    std::uint32_t lowest = streams.front()->sequence();
    for (const auto& stream : streams) lowest = std::min(lowest, stream->sequence());
    std::vector<Mismatch::Participant> participants = participants_at(streams, lowest);
    if (participants.size() > 1) {
      mismatch.participants = std::move(participants);
      mismatch.sequence = lowest;
      mismatch.what = what_differs(mismatch.participants);
      put_largest_first(mismatch);
      return true;
    }
    for (const auto& stream : streams) {
      if (stream->sequence() == lowest) stream->advance();
    }
  }
}

/// Of those that have ended: did all make as many?
bool compare_counts(const Processes& processes, const std::vector<Member>& members,
                    Mismatch& mismatch) {
  std::map<std::uint32_t, std::vector<std::int32_t>> by_count;
  std::map<std::uint32_t, CollectiveShape> last;
  for (const Member& member : members) {
    const ProcessState& state = *processes.find(member.world_rank);
    const bool is_whole = state.has_finalized && !state.has_losses;
    if (!is_whole) continue;
    by_count[member.progress->count].push_back(member.world_rank);
    last[member.progress->count]
        .function = processes.function(member.world_rank, member.progress->last_region).name;
  }
  if (by_count.size() < 2) return false;
  mismatch.what = Mismatch::What::kCount;
  for (auto& [count, ranks] : by_count) {
    mismatch.participants.push_back(
        {.shape = last[count], .count = count, .world_ranks = std::move(ranks)});
  }
  put_largest_first(mismatch);
  return true;
}

}  // namespace

std::vector<Mismatch> find_mismatches(const Processes& processes, const CommTable& comms) {
  std::vector<std::vector<Member>> members(comms.size());
  for (const ProcessState& state : processes.states) {
    for (Slot slot = 0; slot < state.progress.size(); ++slot) {
      const CommTable::Index comm = comms.of(state.world_rank, slot);
      if (comm != CommTable::kNone)
        members[comm].push_back({state.world_rank, slot, &state.progress[slot]});
    }
  }
  std::vector<Mismatch> found;
  for (CommTable::Index comm = 0; comm < comms.size(); ++comm) {
    if (members[comm].size() < 2 || !comms.entry(comm).is_sure) continue;
    Mismatch mismatch{.comm = comm, .participants = {}};
    const bool differs = (!agree_by_hash(members[comm]) &&
                          walk(processes, members[comm], mismatch)) ||
                         compare_counts(processes, members[comm], mismatch);
    if (differs) found.push_back(std::move(mismatch));
  }
  return found;
}

}  // namespace megascope::analysis
