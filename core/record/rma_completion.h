#pragma once

#include "core/record/call.h"

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace megascope {

/// Which one-sided operations of one process a synchronisation, or the completion of a request,
/// completes. The trace does not say: a program may complete a million operations by one fence.
/// MPI-4.1 §12.5.
///
/// Facts are to be given in the order in which their calls returned, those of all threads. One
/// thread. Memory: 24 bytes for each operation that is not complete at its target. Constant time a
/// fact and operation completed.
class RmaCompletion {
 public:
  /// What is known of an operation from now on. A get is complete as a whole when its data is here.
  struct Done {
    RequestId operation = kNoRequest;
    WinId window = kNoWin;
    bool is_local = false;   ///< the origin's memory may be used; not told before
    bool is_remote = false;  ///< and the target's holds it
  };

  /// What the fact completes, in the order in which the operations were issued to each target;
  /// valid until the next call.
  std::span<const Done> add(const Fact& fact);

  /// Operations of which completion at the origin or the target is yet to come.
  std::size_t open_count() const;

 private:
  struct Operation {
    RequestId id;
    bool is_get;  ///< there is nothing to do at the target once the data is here
    bool is_local = false;
    bool is_over = false;
  };
  struct Operations {
    std::vector<Operation> issued;
    std::size_t over_count = 0;
  };
  using Target = std::pair<WinId, std::int32_t>;
  enum class Reach : std::uint8_t {
    kOrigin,        ///< local completion
    kTarget,        ///< and remote completion
    kOriginForGood  ///< nothing will be told of the target
  };

  void issue(const Fact& fact);
  void complete_request(RequestId request);
  void complete_window(WinId window, Reach reach);
  void complete_target(WinId window, Operations& operations, Reach reach);
  static Operation* find(Operations& operations, RequestId request);
  static void tidy(Operations& operations);

  std::map<Target, Operations> open_;
  std::unordered_map<RequestId, Target> requests_;  ///< of operations with a request
  std::vector<Done> done_;
};

}  // namespace megascope
