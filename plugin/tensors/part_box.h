#pragma once

#include "plugin/tensors/letter.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::tensors {

/// Parts of views that wait for the next letter: of each wish, tensor and micro-batch those of all
/// steps while there is room, and where there is not, fewer steps of each before fewer tensors.
/// Which go first follows from step and tensor alone, so that ranks that hold parts of one view,
/// and whose letters leave at different steps, send those of the same; and it goes round, so that
/// each has its turn. One thread at a time.
class PartBox {
 public:
  /// room: bytes of letters, of which the box keeps twice as much at most.
  explicit PartBox(std::size_t room) : room_(room) {}

  void add(ViewPart&& part);
  /// What goes into a letter with `room` bytes left, steps ascending. The others are left out, and
  /// the box is empty.
  std::vector<ViewPart> take(std::size_t room);
  /// Those that were left out: so many so far.
  std::uint64_t left_out() const { return left_out_; }

 private:
  void prune(std::size_t room);

  std::size_t room_;
  std::size_t bytes_ = 0;
  std::vector<ViewPart> parts_;
  std::uint64_t left_out_ = 0;
};

}  // namespace megascope::tensors
