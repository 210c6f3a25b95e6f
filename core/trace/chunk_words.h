#pragma once

#include "core/encoding/word_unpacker.h"
#include "core/trace/reader.h"

#include <memory>
#include <span>
#include <vector>

namespace megascope::trace {

/// Reads the words of chunks, one chunk after the other. One thread at a time.
class ChunkWords {
 public:
  /// Returns the words of a chunk, valid until the next call. They are empty if the running process
  /// has dropped or overwritten the chunk since the file was opened, or if it is packed and
  /// invalid.
  std::span<const encoding::Word> read(const TraceFile::Chunk& chunk);

 private:
  std::span<const encoding::Word> read_changing(const TraceFile::Chunk& chunk);

  std::vector<encoding::Word> words_;
  std::unique_ptr<encoding::WordUnpacker> unpacker_;
};

}  // namespace megascope::trace
