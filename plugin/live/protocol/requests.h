#pragma once

#include "core/record/point.h"
#include "kernels/tiles.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Parses client messages (docs/live_protocol.md, "Text messages from the client"). Pure functions;
/// accept any bytes.
namespace megascope::live {

/// What a panel shows.
enum class Subject : std::uint8_t {
  kSteps,       ///< times of all ranks in each step
  kCounters,    ///< values of counters
  kStatistics,  ///< statistics of tensors
  kTensor,      ///< views of tensors
  kCalls        ///< totals of MPI calls
};

/// A `subscribe` message.
struct Subscribe {
  std::string subscription;
  Subject what = Subject::kSteps;
  std::int64_t since = std::numeric_limits<std::int64_t>::min();
  std::vector<std::string> names{"*"};  ///< name patterns; exactly one for a tensor panel
  std::vector<TensorKind> kinds;        ///< empty: all kinds
  std::int32_t first_layer = std::numeric_limits<std::int32_t>::min();
  std::int32_t last_layer = std::numeric_limits<std::int32_t>::max();
  std::int32_t micro_batch = 0;
  std::uint32_t replica = 0;
  std::uint32_t every = 1;
  bool is_whole = false;  ///< the view is not tiled
  std::uint32_t tiles = 96;
  std::uint32_t keep = 0;  ///< capture::CaptureRequest::keep
  kernels::TileMethod method;
  bool is_half = true;  ///< encoding f16
};

struct Unsubscribe {
  std::string subscription;
};

struct Credit {
  std::string subscription;
  std::uint32_t frames = 1;
};

struct Ping {
  std::string id;  ///< the client's id of the message, as JSON; empty: it has none
};

/// A `request` message: a request to the application.
struct Ask {
  std::string id;          ///< the client's id of the request, as JSON; empty: it has none
  nlohmann::json request;  ///< as handed to the application, without the server's `id`
};

/// A message that was not accepted.
struct BadRequest {
  std::string text;          ///< sentence that says what is wrong
  std::string subscription;  ///< empty: not about a panel
};

using Request = std::variant<BadRequest, Subscribe, Unsubscribe, Credit, Ping, Ask>;

/// Parses one message.
Request read_request(std::string_view text);

}  // namespace megascope::live
