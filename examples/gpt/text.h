/// \file
/// The text that is learned.
#pragma once

#include "ends.h"

namespace gpt {

class Text {
 public:
  /// Collective over the world: rank 0 reads the file. Refuses one that cannot be read, has not a
  /// byte more than `sequence`, or more than 256 MiB.
  Text(const std::string& path, int sequence);
  /// Sequences first.. of a step: rows.length bytes from a place that depends on seed, step and
  /// sequence only. inputs and targets, the bytes after them: [rows]; either may be null.
  void read(std::uint64_t seed, int step, int first, const Rows& rows, Bytes* inputs,
            Bytes* targets) const;

 private:
  std::string bytes_;
};

}  // namespace gpt
