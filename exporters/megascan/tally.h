#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::megascan {

/// What was written, and what the format could not hold.
struct Tally {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;          ///< that were written
  std::uint64_t cut_calls = 0;      ///< shown shorter than they were
  std::uint64_t cut_ns = 0;         ///< by so much, together
  std::uint64_t calls_outside = 0;  ///< in no step, though others are
  std::uint64_t wide_groups = 0;    ///< rows without their group, which has too many members
  std::uint64_t points = 0;         ///< counters' values, marks, tensors
  std::uint64_t other_facts = 0;    ///< what calls did with files, windows …, and values

  void add(const Tally& other);
};

/// Sums over all members, on all members. Collective.
Status add_up(Collective& members, Tally& tally);

/// A sentence each of what was left out or changed.
std::vector<std::string> notes_of(const Tally& tally);

}  // namespace megascope::megascan
