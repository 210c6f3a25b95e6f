#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace megascope {

/// Communication in a group of processes. All members make the same calls in the same order. A
/// group of size 1 needs no MPI. After an error the object must not be used any more. One thread at
/// a time.
class Collective {
 public:
  using Bytes = std::vector<std::byte>;
  /// Merges `theirs` into `mine`. All ranks merged in `theirs` are higher than those merged in
  /// `mine`. Must be associative.
  using Merge = std::function<void(Bytes& mine, std::span<const std::byte> theirs)>;

  virtual ~Collective() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Creates subgroups of the members with equal color, ordered by (key, rank). result is not null
  /// on success.
  virtual Status split(int color, int key, std::unique_ptr<Collective>& result) = 0;

  /// Blocks until all members have called barrier().
  virtual Status barrier() = 0;
  /// Broadcasts `data` from `root`. data: the same size on all members.
  virtual Status bcast(std::span<std::byte> data, int root) = 0;
  /// Gathers. mine: the same size on all members. all: on the root resized to size() * mine.size(),
  /// elsewhere emptied.
  virtual Status gather(std::span<const std::byte> mine, Bytes& all, int root) = 0;
  /// Gathers byte strings of different sizes. parts: on the root one entry for each member,
  /// elsewhere emptied.
  virtual Status gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts, int root) = 0;
  /// Scatters. all: size() * mine.size() bytes on the root, ignored elsewhere.
  virtual Status scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) = 0;
  /// Scatters byte strings of different sizes. parts: one entry for each member on the root,
  /// ignored elsewhere. mine: resized.
  virtual Status scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) = 0;
  /// Reduces in a tree of O(log size) rounds: rank 0 receives the merge of all, in rank order. On
  /// the other members the content of `mine` is unspecified afterwards.
  virtual Status merge_up(Bytes& mine, const Merge& merge) = 0;
  /// Broadcasts `data` from `root`; resized on the other members.
  virtual Status bcast_resized(Bytes& data, int root) = 0;

  /// Reduces in a tree of O(log size) rounds: every member receives the merge of all, in rank
  /// order.
  Status merge_all(Bytes& mine, const Merge& merge) {
    Status status = merge_up(mine, merge);
    if (status.is_ok()) status = bcast_resized(mine, 0);
    return status;
  }
};

/// Returns the group of one process: every operation completes at once.
std::unique_ptr<Collective> make_single_collective();

}  // namespace megascope
