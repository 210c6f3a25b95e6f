#pragma once

#include "plugin/capture/rank_update.h"
#include "plugin/live/hub/request_queue.h"
#include "plugin/live/views/latest_view_cache.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace megascope::live {

/// Drop reason for answers that are omitted because the client does not read them.
inline constexpr const char* kLostTokens = "tokens of texts for clients that do not read";

/// Observer of the data that the hub receives, in addition to the hub's own clients. Called on the
/// hub's thread.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A view was put into the latest-view cache.
  virtual void receive_key(const LatestViewCache::Key& key, std::int64_t now_ns) = 0;
  /// An item is not captured; the notice says why.
  virtual void handle(const capture::Notice& notice) = 0;
  /// The application answered the request of the client in `asker`.
  virtual void handle(const Asker& asker, const nlohmann::json& reply) = 0;
  /// The run has ended.
  virtual void receive_end() = 0;
};

}  // namespace megascope::live
