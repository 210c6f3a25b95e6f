#pragma once

#include "analysis/detect/call_kinds.h"

#include <cstddef>
#include <cstdint>

namespace megascope::detect {

/// A loop in a rank's sequence of calls. Each iteration ends with a call of one kind.
struct InnerLoop {
  std::size_t kind = 0;      ///< index into CallKinds::all()
  std::uint32_t every = 0;   ///< occurrences of the kind in an iteration; 0: no loop was found
  std::uint32_t offset = 0;  ///< occurrences of the kind are numbered from 0. Those with the
                             ///< numbers offset + n × every end an iteration
  double count = 0.0;        ///< iterations in CallKinds::order()
  double outer_count = 0.0;  ///< occurrences of the outer kind in CallKinds::order()

  bool is_found() const { return every != 0; }
};

inline constexpr std::size_t kNoKind = SIZE_MAX;

/// Finds the longest sequence of calls that a rank repeats inside its outer loop. is_found() of the
/// result is false if no sequence meets all conditions:
/// - It has at least 8 iterations, and at least twice as many as there are calls of the kind
///   `outer`. kNoKind: there is no outer loop, and only the 8 iterations are required.
/// - 85 % of all calls are in iterations that equal the next one. Kinds of calls that occur in
///   fewer than half of the iterations are ignored in the comparison.
/// - The time between calls (work) in iterations with an outer call is at most twice that in the
///   others, by the medians. Gradient buckets and the micro-batches of a pipeline fail this
///   condition: they are parts of a step.
/// Of loops with the same number of iterations, takes the one that ends closest before an outer
/// call.
/// Cost: at most 64 × 18 + 1 passes over calls.order(): for each of up to 64 kinds, one for each of
/// up to 16 lengths, and two to check the loop.
InnerLoop find_inner_loop(const CallKinds& calls, std::size_t outer);

}  // namespace megascope::detect
