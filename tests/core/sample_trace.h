#pragma once

#include "core/encoding/encoding.h"
#include "core/trace/definition_codec.h"
#include "core/trace/layout.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope::trace {

/// A trace file made by hand, in memory: a header page, then chunks of one page (or as many as
/// their content needs).
class SampleTrace {
 public:
  using Word = encoding::Word;

  SampleTrace();

  FileHeader& header() { return *reinterpret_cast<FileHeader*>(words_.data()); }
  /// Appends a chunk of definitions.
  SampleTrace& define(const std::vector<DefinitionBytes>& definitions);
  /// Appends a chunk of events. pending: word 0 to 3 of the pending mark, or empty.
  SampleTrace& events(LocationId location, std::uint32_t sequence, std::uint64_t base_ticks,
                      const std::vector<Word>& words, const std::vector<Word>& pending = {});

  /// The same of a chunk of what hooks told.
  SampleTrace& hooks(LocationId location, std::uint32_t sequence, std::uint64_t base_ticks,
                     const std::vector<Word>& words);

  /// Packs all chunks of events and hooks, in place.
  SampleTrace& pack();

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }

  /// Two locations, one with two chunks; a communicator, an error handler's nested call, a time
  /// base, facts of every layout, a pending receive.
  static SampleTrace rich();
  /// The same, and what the program told on its first location, of every kind, in two chunks.
  static SampleTrace with_hooks();

 private:
  static void pack(ChunkHeader& chunk);
  ChunkHeader& begin(ChunkKind kind, std::size_t payload_bytes);
  ChunkHeader& append(ChunkKind kind, LocationId location, std::uint32_t sequence,
                      std::uint64_t base_ticks, const std::vector<Word>& words);
  std::vector<Word> words_;
};

/// Word 0 and 1 of a call at `enter` (after the time base) of length `duration`.
encoding::Word call_word0(std::uint64_t enter, RegionId region);
encoding::Word call_word1(std::uint32_t duration, std::uint32_t comm, FactKind kind,
                          unsigned flags);

}  // namespace megascope::trace
