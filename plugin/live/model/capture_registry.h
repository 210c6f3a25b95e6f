#pragma once

#include "plugin/capture/capture_request.h"
#include "plugin/live/protocol/requests.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace megascope::live {

/// Returns the capture requests that a subscription needs, without ids. Step times and MPI calls
/// need none, because they are always sent.
std::vector<capture::CaptureRequest> capture_requests_of(const Subscribe& subscribe);

/// Origin of a capture request.
enum class From : std::uint8_t {
  kClient,          ///< an authenticated client
  kUnauthenticated  ///< a client of the compatibility endpoint, which is unauthenticated
};

/// Registry of all clients' capture requests, without duplicates: at most kMaxCaptureRequests, of
/// which unauthenticated clients may use kMaxCompatCaptureRequests. One thread.
class CaptureRegistry {
 public:
  /// Adds requests and returns their ids, under which captured items are reported. If a limit would
  /// be exceeded, adds nothing and returns nullopt. former: ids that the same client will release
  /// next; they do not count towards the limits.
  std::optional<std::vector<std::uint32_t>> add(
      const std::vector<capture::CaptureRequest>& capture_requests, From from,
      const std::vector<std::uint32_t>& former = {});
  /// Releases ids. A request that no client uses any more is removed.
  void release(const std::vector<std::uint32_t>& ids, From from);
  /// Returns the request with this id; null if there is none. Valid until the registry changes.
  const capture::CaptureRequest* find(std::uint32_t id) const;
  /// Returns whether the requests changed since the last call. If so, sets `bytes` to all requests,
  /// serialized by pack_capture_requests().
  bool take_changed(std::vector<std::byte>& bytes);

 private:
  struct Entry {
    capture::CaptureRequest capture_request;
    std::uint32_t wanted = 0;                     ///< reference count
    std::uint32_t wanted_by_unauthenticated = 0;  ///< of these, by unauthenticated clients
  };
  std::map<std::uint32_t, Entry>::iterator find_or_enter(
      const capture::CaptureRequest& capture_request);
  bool is_within_bounds(From from, const std::vector<std::uint32_t>& former) const;
  std::map<std::uint32_t, Entry> entries_;  ///< by id
  std::uint32_t next_id_ = 1;
  bool has_changed_ = false;
};

}  // namespace megascope::live
