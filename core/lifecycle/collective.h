#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace megascope {

/// A group of cooperating processes. All members make the same calls in the same order. Size 1
/// needs no MPI. An error is sticky for the caller's purpose: after one, stop using the object. One
/// thread at a time.
class Collective {
 public:
  using Bytes = std::vector<std::byte>;
  /// Folds `theirs` (of a higher-ranked member) into `mine`. Must be associative.
  using Merge = std::function<void(Bytes& mine, std::span<const std::byte> theirs)>;

  virtual ~Collective() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Members with the same color form a group, ordered by (key, rank). Never null on success.
  virtual Status split(int color, int key, std::unique_ptr<Collective>& result) = 0;

  virtual Status barrier() = 0;
  /// data has the same size everywhere.
  virtual Status bcast(std::span<std::byte> data, int root) = 0;
  /// all: resized to size() * mine.size() on the root, emptied elsewhere. mine has the same size
  /// everywhere.
  virtual Status gather(std::span<const std::byte> mine, Bytes& all, int root) = 0;
  /// parts: on the root one entry a member; elsewhere emptied.
  virtual Status gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts, int root) = 0;
  /// all: size() * mine.size() bytes on the root, ignored elsewhere.
  virtual Status scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) = 0;
  /// parts: one entry a member on the root, ignored elsewhere. mine is resized.
  virtual Status scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) = 0;
  /// Tree of O(log size) rounds: afterwards rank 0 holds the merge of all, in rank order. Others'
  /// are unspecified.
  virtual Status merge_up(Bytes& mine, const Merge& merge) = 0;
  /// data is resized and filled from the root.
  virtual Status bcast_resized(Bytes& data, int root) = 0;

  /// merge_up, then the result on every member.
  Status merge_all(Bytes& mine, const Merge& merge) {
    Status status = merge_up(mine, merge);
    if (status.is_ok()) status = bcast_resized(mine, 0);
    return status;
  }
};

/// The group of one process: every operation succeeds at once.
std::unique_ptr<Collective> make_single_collective();

}  // namespace megascope
