#pragma once

#include "analysis/detect/call_kinds.h"

#include <cstddef>
#include <cstdint>

namespace megascope::detect {

/// The calls of a kind at which a loop's body ends.
struct InnerLoop {
  std::size_t kind = 0;      ///< index into CallKinds::all()
  std::uint32_t every = 0;   ///< occurrences of the kind in a body; 0: no loop was found
  std::uint32_t offset = 0;  ///< the body ends with occurrences number offset, offset + every …
  double count = 0.0;        ///< bodies in what was looked at
  double outer_count = 0.0;  ///< occurrences of the outer kind there

  bool is_found() const { return every != 0; }
};

inline constexpr std::size_t kNoKind = SIZE_MAX;

/// The longest piece of a rank's calls that comes back the same again and again, but for calls that
/// are much rarer, and at least twice as often as `outer` (kNoKind: there is none). Ends as shortly
/// before an outer call as may be. What comes back is nearly all that the rank does, and it works
/// about as long in bodies with an outer call as in others: buckets of gradients are no loop, nor
/// are micro-batches of a pipeline that has to be filled.
InnerLoop find_inner_loop(const CallKinds& calls, std::size_t outer);

}  // namespace megascope::detect
