/// \file
/// The training text.
#pragma once

#include "ends.h"

namespace gpt {

class Text {
 public:
  /// Collective over the world: rank 0 reads the file. Throws Refusal if it cannot be read, has at
  /// most `sequence` bytes, or more than 256 MiB.
  Text(const std::string& path, int sequence);
  /// Reads sequences from `first` on of a step: rows.length bytes from a position that depends only
  /// on seed, step and sequence. inputs, and targets (the following bytes): [rows]; either may be
  /// null.
  void read(std::uint64_t seed, int step, int first, const Rows& rows, Bytes* inputs,
            Bytes* targets) const;

 private:
  std::string bytes_;
};

}  // namespace gpt
