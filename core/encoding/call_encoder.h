#pragma once

#include "core/encoding/encode_call.h"
#include "core/record/call.h"
#include "core/record/request_map.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope::encoding {

/// Encodes the facts of calls in memory. The result is the same as that of the wrappers, which
/// encode during recording. One location, calls in order of return. One thread. CallDecoder reads
/// the result.
class CallEncoder {
 public:
  /// Fills `folded` with the facts that the call's own words hold, and returns the facts that
  /// follow them, in order. words: of the call. Times are in ticks.
  std::vector<Fact> split(const Call& call, std::span<const Fact> facts, const CallWords& words,
                          std::uint64_t base_ticks, Folded& folded);

  /// Returns the arguments of a pending call in the form of its mark, the words that a thread
  /// stores when it enters a call.
  static Folded fold_posted(std::span<const Fact> posted);

 private:
  Fact shortened(const Fact& fact);

  RequestMap<Fact> open_;  ///< starts of the operations in flight, to which short completions refer
};

}  // namespace megascope::encoding
