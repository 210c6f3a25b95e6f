#pragma once

#include "core/record/event_view.h"

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace megascope {

/// Determines which one-sided operations of a process are completed by a synchronisation or by the
/// completion of a request. Traces do not store this, because one fence may complete a million
/// operations. MPI-4.1 §12.5.
///
/// Facts must be added in the order in which their calls returned, over all threads. One thread. 24
/// bytes for each operation that is not complete at its target; constant time for each fact and
/// each operation completed.
class RmaCompletion {
 public:
  /// New state of an operation. A get is complete at both ends when its data has arrived.
  struct Done {
    RequestId operation = kNoRequest;
    WinId window = kNoWin;
    bool is_local = false;   ///< complete at the origin, so that the application may use the memory
                             ///< again. Reported once
    bool is_remote = false;  ///< complete at the target
  };

  /// Returns the operations that the fact completes, in order of issue for each target. Valid until
  /// the next call.
  std::span<const Done> add(const Fact& fact);

  /// Returns the number of operations that are not complete at origin and target.
  std::size_t open_count() const;

 private:
  struct Operation {
    RequestId id;
    bool is_get;  ///< complete at the target once the data has arrived
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
    kTarget,        ///< local and remote completion
    kOriginForGood  ///< local completion; remote completion will not be reported
  };

  void issue(events::RmaOperation operation);
  void synchronize(events::RmaSync sync);
  void complete(events::OneSided event, Reach reach);
  void complete_request(RequestId request);
  void complete_window(WinId window, Reach reach);
  void complete_target(WinId window, Operations& operations, Reach reach);
  static Operation* find(Operations& operations, RequestId request);
  static void tidy(Operations& operations);

  std::map<Target, Operations> open_;
  std::unordered_map<RequestId, Target> requests_;  ///< operations with an MPI request
  std::vector<Done> done_;
};

}  // namespace megascope
