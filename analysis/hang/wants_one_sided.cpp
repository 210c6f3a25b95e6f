#include "analysis/hang/wants.h"
#include "core/record/event_view.h"
#include "core/record/world_ranks.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

/// What one thread in a call on a window waits for.
class OneSidedWants {
 public:
  OneSidedWants(const Processes& processes, const CommTable& comms, const ProcessState& state,
                const ThreadState& thread, events::OneSided event, Waiting& waiting)
      : processes_(processes),
        comms_(comms),
        state_(state),
        thread_(thread),
        waiting_(waiting),
        window_(comms.of(state.world_rank, slot_of_window(*state.definitions, event.window()))) {
    target_ = WorldRanks(*state.definitions).of(event.comm(), event.target());
  }

  void add(events::RmaSync sync) {
    using Sync = events::RmaSync::Sync;
    if (window_ == CommTable::kNone) return;
    switch (sync.sync()) {
      case Sync::kGroup:
        return add_group(sync);
      case Sync::kLock:
        return add_lock(sync.target(), sync.is_exclusive());
      case Sync::kUnlock:
      case Sync::kFlush:
        return add_held_lock(sync);
      case Sync::kFence:  // a collective
      case Sync::kMemory:
        return;
    }
  }
  void add(events::RmaOperation /*operation*/) {
    if (window_ != CommTable::kNone) want(Want::Kind::kTarget, kNoPeer);
  }

 private:
  Want& want(Want::Kind kind, std::int32_t partner) {
    return waiting_.wants.emplace_back(Want{.kind = kind,
                                            .comm = window_,
                                            .partner = partner,
                                            .target = target_,
                                            .region = thread_.region,
                                            .location = thread_.location,
                                            .since_ns = thread_.enter_ns});
  }

  /// How often a process has called `what` on the window with a group in which `member` is.
  std::uint64_t sync_count(const ProcessState& process, std::uint64_t what,
                           std::int32_t member) const {
    const WinId window = window_of_slot(*process.definitions,
                                        comms_.slot_in(process.world_rank, window_));
    std::uint64_t count = 0;
    for (const auto& [key, calls] : process.one_sided.group_syncs) {
      const auto& [of_window, group, of_what] = key;
      if (of_window == window && of_what == what && is_in(process, group, member)) count += calls;
    }
    return count;
  }
  static bool is_in(const ProcessState& process, GroupId group, std::int32_t member) {
    if (group >= process.definitions->groups.size()) return false;
    return std::ranges::any_of(process.definitions->groups[group].members, [&](const RankRun& run) {
      const std::int32_t step = member - run.first;
      return step == 0 || (run.stride != 0 && step % run.stride == 0 && step / run.stride > 0 &&
                           step / run.stride < run.count);
    });
  }

  /// The n-th start and complete of an origin with a target fit the target's n-th post and wait
  /// with it. MPI-4.1 §12.5.2.
  void add_group(events::RmaSync sync) {
    const std::uint64_t what = sync.group_function();
    if (what == rma::kPost || sync.group() >= state_.definitions->groups.size()) return;
    if (what == rma::kStart && sync.has(rma::kNoCheck)) return;
    const std::uint64_t theirs = what == rma::kWait ? rma::kComplete : rma::kPost;
    for (const std::int32_t rank : expand(state_.definitions->groups[sync.group()].members)) {
      Want& made = want(what == rma::kWait ? Want::Kind::kComplete : Want::Kind::kPost, rank);
      made.target = kNoPeer;
      const ProcessState* other = processes_.find(rank);
      made.is_known = other != nullptr && !other->has_losses && !state_.has_losses;
      if (made.is_known)
        made.is_met = sync_count(*other, theirs, state_.world_rank) >
                      sync_count(state_, what, rank);
    }
  }

  /// Adds the ranks that hold a lock which conflicts with this one. target: rank in the
  /// communicator, kNoPeer for all.
  void add_lock(std::int32_t target, bool is_exclusive) {
    std::size_t exclusive_count = 0;
    const std::size_t before = waiting_.wants.size();
    for (const std::int32_t rank : comms_.members(window_)) {
      const ProcessState* other = processes_.find(rank);
      if (other == nullptr || rank == state_.world_rank) continue;
      const WinId window = window_of_slot(*other->definitions, comms_.slot_in(rank, window_));
      for (const auto& [key, is_held_exclusively] : other->one_sided.locks) {
        const bool is_same = key.first == window &&
                             (target == kNoPeer || key.second == kNoPeer || key.second == target);
        if (!is_same || (!is_exclusive && !is_held_exclusively)) continue;
        Want& made = want(Want::Kind::kLock, rank);
        made.is_exclusive = is_held_exclusively;
        made.is_known = !other->may_be_ahead;
        exclusive_count += is_held_exclusively ? 1 : 0;
        break;
      }
    }
    if (waiting_.wants.size() == before) want(Want::Kind::kLock, kNoPeer);
    // A library may return from MPI_Win_lock before it has the lock: of several that have it to
    // themselves one is right.
    waiting_.needs_all = exclusive_count < 2;
  }

  /// A call that needs the lock, which MPI_Win_lock need not have waited for.
  void add_held_lock(events::RmaSync sync) {
    const auto held = state_.one_sided.locks.find({sync.window(), sync.target()});
    if (held != state_.one_sided.locks.end()) add_lock(sync.target(), held->second);
    for (Want& made : waiting_.wants) {
      made.may_have_left = made.partner != kNoPeer;  // the holder is uncertain
      if (made.partner == kNoPeer) made.kind = Want::Kind::kTarget;
    }
    if (waiting_.wants.empty()) want(Want::Kind::kTarget, kNoPeer);
  }

  const Processes& processes_;
  const CommTable& comms_;
  const ProcessState& state_;
  const ThreadState& thread_;
  Waiting& waiting_;
  CommTable::Index window_;
  std::int32_t target_ = kNoPeer;
};

}  // namespace

void want_one_sided(const Processes& processes, const CommTable& comms, const ProcessState& state,
                    const ThreadState& thread, Waiting& waiting) {
  for (const Fact& fact : thread.posted) {
    const auto add = [&](auto event) {
      OneSidedWants(processes, comms, state, thread, event, waiting).add(event);
    };
    if (const auto sync = events::as<events::RmaSync>(fact)) add(*sync);
    if (const auto operation = events::as<events::RmaOperation>(fact)) add(*operation);
  }
}

}  // namespace megascope::analysis
