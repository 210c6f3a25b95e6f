#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::megascan {

/// Counts of what was written and of what the format cannot express.
struct Tally {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;      ///< calls written
  std::uint64_t cut_calls = 0;  ///< number of calls that are shown shorter than they were
  std::uint64_t cut_ns = 0;     ///< total time by which they are shortened
  std::uint64_t
      calls_outside = 0;  ///< number of calls that are in no step, although the run has steps
  std::uint64_t
      wide_groups = 0;  ///< number of rows without `group`, because the group has too many members
  std::uint64_t points = 0;  ///< number of counter values, marks and tensors, which are omitted
  std::uint64_t
      other_facts = 0;  ///< number of omitted facts, for example about files, windows and values

  void add(const Tally& other);
};

/// Replaces the counts on every member by the sums over all members. All members must call it.
Status add_up(Collective& members, Tally& tally);

/// Returns one sentence for each kind of omission or change that occurred.
std::vector<std::string> notes_of(const Tally& tally);

}  // namespace megascope::megascan
