#include "analysis/whatif/replay.h"

#include <algorithm>

namespace megascope::whatif {
namespace {

/// Finds an order of starts and ends in which each comes after all that it depends on.
class Sorter {
 public:
  Sorter(OperationGraph& graph, const NumberLists& waiting)
      : graph_(graph),
        waiting_(waiting),
        left_(graph.group_count()),
        has_started_(graph.operations.size()),
        has_ended_(graph.operations.size()) {
    const std::vector<Operation>& all = graph.operations;
    followers_ = NumberLists(all.size(), [&all](auto&& emit) {
      for (std::uint32_t i = 0; i < all.size(); ++i) {
        if (all[i].before != kNone) emit(all[i].before, i);
      }
    });
    members_ = NumberLists(graph.group_count(), [&all](auto&& emit) {
      for (std::uint32_t i = 0; i < all.size(); ++i) {
        if (all[i].group != kNone) emit(all[i].group, i);
      }
    });
    for (std::uint32_t g = 0; g < graph.group_count(); ++g)
      left_[g] = graph.group_begin[g + 1] - graph.group_begin[g];
  }

  /// Calls visit(operation, is_end) for each start and each end, in order. Returns how many
  /// dependencies were cut.
  template <class Visit>
  std::size_t run(Visit&& visit) {
    for (std::uint32_t i = 0; i < graph_.operations.size(); ++i) {
      if (graph_.operations[i].before == kNone) ready_.push_back(i);
    }
    for (std::size_t cut = 0;; ++cut) {
      while (!ready_.empty()) {
        const OperationIndex operation = ready_.back();
        ready_.pop_back();
        start(operation, visit);
      }
      if (!cut_one(visit)) return cut;
    }
  }

 private:
  template <class Visit>
  void start(OperationIndex operation, Visit& visit) {
    visit(operation, false);
    has_started_[operation] = true;
    const std::uint32_t own = graph_.operations[operation].group;
    if (own == kNone) end(operation, visit);
    for (const std::uint32_t group : waiting_.of(operation)) {
      if (--left_[group] == 0) end_members(group, visit);
    }
    // The group may have been ready before this member started.
    if (own != kNone && left_[own] == 0 && !has_ended_[operation]) end(operation, visit);
  }
  template <class Visit>
  void end_members(std::uint32_t group, Visit& visit) {
    for (const OperationIndex member : members_.of(group)) {
      if (has_started_[member] && !has_ended_[member] && graph_.operations[member].group == group)
        end(member, visit);
    }
  }
  template <class Visit>
  void end(OperationIndex operation, Visit& visit) {
    has_ended_[operation] = true;
    visit(operation, true);
    for (const OperationIndex follower : followers_.of(operation)) ready_.push_back(follower);
  }

  /// Removes the group of the next operation, in the order of the graph, that has started and
  /// cannot end. Returns false if there is none.
  template <class Visit>
  bool cut_one(Visit& visit) {
    const std::size_t count = graph_.operations.size();
    for (std::size_t seen = 0; seen < count; ++seen, next_ = next_ + 1 < count ? next_ + 1 : 0) {
      if (!has_started_[next_] || has_ended_[next_]) continue;
      graph_.operations[next_].group = kNone;
      end(static_cast<OperationIndex>(next_), visit);
      return true;
    }
    return false;
  }

  OperationGraph& graph_;
  const NumberLists& waiting_;
  NumberLists followers_;
  NumberLists members_;
  std::vector<std::uint32_t> left_;  ///< by group: starters that have not started
  std::vector<bool> has_started_;
  std::vector<bool> has_ended_;
  std::vector<OperationIndex> ready_;
  std::size_t next_ = 0;
};

/// Allocates slot numbers. Freed numbers are used again.
class Slots {
 public:
  /// first: the lowest number; lower ones are reserved.
  explicit Slots(std::uint32_t first) : count_(first) {}
  std::uint32_t take() {
    if (free_.empty()) return count_++;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) { free_.push_back(slot); }
  std::size_t count() const { return count_; }

 private:
  std::uint32_t count_;
  std::vector<std::uint32_t> free_;
};

/// Remaining uses of a value, and the slot that holds it until then. Slot 0: none yet.
struct Kept {
  std::uint32_t uses = 0;
  std::uint32_t slot = 0;

  void use(Slots& slots) {
    if (--uses == 0 && slot != 0) slots.give_back(slot);
  }
};

NumberLists waiting_groups(const OperationGraph& graph) {
  return NumberLists(graph.operations.size(), [&graph](auto&& emit) {
    for (std::uint32_t group = 0; group < graph.group_count(); ++group) {
      for (std::uint32_t i = graph.group_begin[group]; i < graph.group_begin[group + 1]; ++i)
        emit(graph.starters[i], group);
    }
  });
}

}  // namespace

Replay::Replay(OperationGraph& graph) : graph_(graph) {
  const NumberLists waiting = waiting_groups(graph);
  Sorter sorter(graph, waiting);
  std::vector<std::uint32_t> order;
  order.reserve(2 * graph.operations.size());
  cut_count_ = sorter.run([&order](OperationIndex operation, bool is_end) {
    order.push_back(operation << 1 | (is_end ? 1U : 0U));
  });
  std::vector<Kept> ends(graph.operations.size());
  std::vector<Kept> groups(graph.group_count());
  for (const Operation& operation : graph.operations) {
    if (operation.before != kNone) ends[operation.before].uses += 2;  // a start and an end
    if (operation.group != kNone) ++groups[operation.group].uses;
  }
  Slots end_slots(kNobodysEnd + 1);
  Slots group_slots(1);
  for (const std::uint32_t word : order) {
    const OperationIndex index = word >> 1;
    const Operation& operation = graph.operations[index];
    Kept* const before = operation.before == kNone ? nullptr : &ends[operation.before];
    Event event{.operation = index, .from = before == nullptr ? kNothing : before->slot};
    if ((word & 1) == 0) {
      for (const std::uint32_t group : waiting.of(index)) {
        if (groups[group].uses == 0) continue;  // those that waited for it were cut
        const bool is_first = groups[group].slot == 0;
        if (is_first) groups[group].slot = group_slots.take();
        event.group = groups[group].slot & 0x3FFFFFFF;
        event.kind = static_cast<std::uint32_t>(is_first ? Kind::kFirstStart : Kind::kStart) & 3;
        events_.push_back(event);
      }
    } else {
      const bool is_alone = operation.group == kNone;
      event.kind = static_cast<std::uint32_t>(is_alone ? Kind::kEnd : Kind::kGroupEnd) & 3;
      if (!is_alone) event.group = groups[operation.group].slot & 0x3FFFFFFF;
      if (ends[index].uses != 0) ends[index].slot = end_slots.take();
      event.to = ends[index].uses != 0 ? ends[index].slot : kNobodysEnd;
      events_.push_back(event);
      if (!is_alone) groups[operation.group].use(group_slots);
    }
    if (before != nullptr) before->use(end_slots);
  }
  end_slots_ = end_slots.count();
  group_slots_ = group_slots.count();
}

}  // namespace megascope::whatif
