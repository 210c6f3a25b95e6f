#include "analysis/align/logical_clock.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

constexpr std::uint64_t
    kSpread = 100;  ///< a move of 1 ns is undone in, and prepared over, so many ns
constexpr std::uint32_t kNone = 0xFFFFFFFF;

using Moment = OrderConstraints::Moment;

/// A move of one process's clock: from `time_ns` on by shift_ns, which then goes back to 0.
struct Move {
  std::uint64_t time_ns = 0;
  std::uint64_t before_ns = 0;  ///< shift before it
  std::uint64_t shift_ns = 0;
};

std::uint64_t shift_after(const Move& move, std::uint64_t time_ns) {
  const std::uint64_t undone = (time_ns - move.time_ns) / kSpread;
  return move.shift_ns > undone ? move.shift_ns - undone : 0;
}

std::uint64_t shift_at(const std::vector<Move>& moves, std::uint64_t time_ns) {
  const auto after = std::ranges::upper_bound(moves, time_ns, {}, &Move::time_ns);
  return after == moves.begin() ? 0 : shift_after(*(after - 1), time_ns);
}

class Clock {
 public:
  /// floors: by group, not before when its `after` moments come.
  Clock(const OrderConstraints& constraints, const std::vector<std::uint64_t>& floors)
      : moments_(constraints.by_process),
        groups_(constraints.group_count),
        at_(moments_.size()),
        next_waiter_(moments_.size(), kNone),
        moves_(moments_.size()) {
    for (std::size_t group = 0; group < groups_.size(); ++group)
      groups_[group].needed_ns = floors[group];
    for (const auto& of_process : moments_) {
      for (const Moment& moment : of_process)
        groups_[moment.group].missing += moment.is_before ? 1 : 0;
    }
  }

  std::vector<TimeCorrection> run() {
    for (std::uint32_t process = 0; process < moments_.size(); ++process) ready_.push_back(process);
    for (;;) {
      while (!ready_.empty()) {
        const std::uint32_t process = ready_.back();
        ready_.pop_back();
        advance(process);
      }
      if (!break_cycle()) break;
    }
    std::vector<TimeCorrection> result;
    for (std::uint32_t process = 0; process < moments_.size(); ++process)
      result.push_back(correction_of(process));
    return result;
  }

 private:
  struct Group {
    std::uint64_t needed_ns = 0;                    ///< corrected: the latest of `before`
    std::uint64_t deadline_ns = ~std::uint64_t{0};  ///< corrected: the earliest of `after`
    std::uint32_t missing = 0;                      ///< of `before`, not yet known
    std::uint32_t first_waiter = kNone;
  };

  void advance(std::uint32_t process) {
    const auto& moments = moments_[process];
    for (std::size_t& at = at_[process]; at < moments.size(); ++at) {
      const Moment& moment = moments[at];
      Group& group = groups_[moment.group];
      if (moment.is_before) {
        group.needed_ns = std::max(group.needed_ns, corrected(process, moment.time_ns));
        if (group.missing != 0 && --group.missing == 0) wake(group);
        continue;
      }
      if (group.missing != 0) {
        next_waiter_[process] = group.first_waiter;
        group.first_waiter = process;
        return;
      }
      move_behind(process, moment.time_ns, group);
    }
  }

  std::uint64_t corrected(std::uint32_t process, std::uint64_t time_ns) const {
    const auto& moves = moves_[process];
    return moves.empty() ? time_ns : time_ns + shift_after(moves.back(), time_ns);
  }

  void move_behind(std::uint32_t process, std::uint64_t time_ns, Group& group) {
    std::uint64_t now_ns = corrected(process, time_ns);
    if (now_ns < group.needed_ns) {
      auto& moves = moves_[process];
      const Move move{time_ns, now_ns - time_ns, group.needed_ns - time_ns};
      if (!moves.empty() && moves.back().time_ns == time_ns)
        moves.back().shift_ns = move.shift_ns;
      else
        moves.push_back(move);
      now_ns = group.needed_ns;
    }
    group.deadline_ns = std::min(group.deadline_ns, now_ns);
  }

  void wake(Group& group) {
    while (group.first_waiter != kNone) {
      const std::uint32_t process = group.first_waiter;
      group.first_waiter = next_waiter_[process];
      next_waiter_[process] = kNone;
      ready_.push_back(process);
    }
  }

  /// No process can go on: what is matched is wrong, or two moments have one time. The first that
  /// waits goes on with what is known.
  bool break_cycle() {
    for (std::uint32_t process = 0; process < moments_.size(); ++process) {
      if (at_[process] == moments_[process].size()) continue;
      Group& group = groups_[moments_[process][at_[process]].group];
      group.missing = 0;
      wake(group);
      return true;
    }
    return false;
  }

  /// Where the way up to a move may begin, so that no rank who needs something on it comes too
  /// early.
  std::uint64_t ramp_start(std::uint32_t process, const Move& move,
                           std::uint64_t not_before_ns) const {
    const auto& moments = moments_[process];
    const std::uint64_t length_ns = kSpread * (move.shift_ns - move.before_ns);
    std::uint64_t start_ns = std::max(not_before_ns,
                                      move.time_ns > length_ns ? move.time_ns - length_ns : 0);
    auto moment = std::ranges::lower_bound(moments, start_ns, {}, &Moment::time_ns);
    for (; moment != moments.end() && moment->time_ns < move.time_ns; ++moment) {
      if (!moment->is_before) continue;
      const std::uint64_t from_ns = shift_at(moves_[process], start_ns);
      const double part = static_cast<double>(moment->time_ns - start_ns) /
                          static_cast<double>(move.time_ns - start_ns);
      const double shift = static_cast<double>(from_ns) +
                           part *
                               (static_cast<double>(move.shift_ns) - static_cast<double>(from_ns));
      const double deadline = static_cast<double>(groups_[moment->group].deadline_ns -
                                                  moment->time_ns);
      if (shift + 1 >= deadline) start_ns = moment->time_ns;
    }
    return start_ns;
  }

  TimeCorrection correction_of(std::uint32_t process) const {
    const auto& moves = moves_[process];
    std::vector<TimeCorrection::Point> points;
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const Move& move = moves[i];
      const std::uint64_t previous_ns = i == 0 ? 0 : moves[i - 1].time_ns;
      const std::uint64_t start_ns = ramp_start(process, move, previous_ns);
      add_decay(points, i == 0 ? nullptr : &moves[i - 1], start_ns);
      if (start_ns == move.time_ns) points.push_back({start_ns, move.before_ns});
      points.push_back({move.time_ns, move.shift_ns});
    }
    if (!moves.empty())
      add_decay(points, &moves.back(),
                moves.back().time_ns + kSpread * (moves.back().shift_ns + 1));
    return TimeCorrection(std::move(points));
  }

  /// The way back to 0 after a move, up to `end_ns`: as shift_after() says, to the ns.
  static void add_decay(std::vector<TimeCorrection::Point>& points, const Move* move,
                        std::uint64_t end_ns) {
    if (move == nullptr) return points.push_back({end_ns, 0});
    const std::uint64_t steps = std::min((end_ns - move->time_ns) / kSpread, move->shift_ns);
    points.push_back({move->time_ns + steps * kSpread, move->shift_ns - steps});
    points.push_back({end_ns, move->shift_ns - steps});
  }

  const std::vector<std::vector<Moment>>& moments_;
  std::vector<Group> groups_;
  std::vector<std::size_t> at_;             ///< by process: the next moment
  std::vector<std::uint32_t> next_waiter_;  ///< by process, of the group that it waits for
  std::vector<std::vector<Move>> moves_;
  std::vector<std::uint32_t> ready_;
};

/// What a clock that stood still shows at one time is moved as one, also an entry that others had
/// been told to be earlier. False: all constraints hold. Else floors tells where such entries are
/// now.
bool raise_floors(const OrderConstraints& constraints,
                  const std::vector<TimeCorrection>& corrections,
                  std::vector<std::uint64_t>& floors) {
  const auto for_each = [&](bool is_before, auto&& action) {
    for (std::size_t process = 0; process < corrections.size(); ++process) {
      for (const Moment& moment : constraints.by_process[process]) {
        if (moment.is_before == is_before)
          action(moment.group, corrections[process].corrected(moment.time_ns));
      }
    }
  };
  bool is_violated = false;
  for_each(true, [&](std::uint32_t group, std::uint64_t time_ns) {
    floors[group] = std::max(floors[group], time_ns);
  });
  for_each(false, [&](std::uint32_t group, std::uint64_t time_ns) {
    is_violated = is_violated || time_ns < floors[group];
  });
  return is_violated;
}

constexpr int kMaxRounds = 8;

}  // namespace

std::vector<TimeCorrection> logical_clock(const OrderConstraints& constraints) {
  std::vector<std::uint64_t> floors(constraints.group_count);
  std::vector<TimeCorrection> corrections = Clock(constraints, floors).run();
  for (int round = 1; round < kMaxRounds && raise_floors(constraints, corrections, floors);
       ++round) {
    corrections = Clock(constraints, floors).run();
  }
  return corrections;
}

}  // namespace megascope::analysis
