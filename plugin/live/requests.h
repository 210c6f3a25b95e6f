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

/// What clients say (docs/live_protocol.md, "Text messages from the client"). Pure; any bytes may
/// be read.
namespace megascope::live {

enum class Subject : std::uint8_t { kSteps, kCounters, kStatistics, kTensor, kCalls };

struct Subscribe {
  std::string panel;
  Subject what = Subject::kSteps;
  std::int64_t since = std::numeric_limits<std::int64_t>::min();
  std::vector<std::string> names{"*"};  ///< patterns; of a tensor one
  std::vector<TensorKind> kinds;        ///< none: any
  std::int32_t first_layer = std::numeric_limits<std::int32_t>::min();
  std::int32_t last_layer = std::numeric_limits<std::int32_t>::max();
  std::int32_t micro_batch = 0;
  std::uint32_t replica = 0;
  std::uint32_t every = 1;
  bool is_whole = false;  ///< the view is no tile
  std::uint32_t tiles = 96;
  std::uint32_t keep = 0;  ///< tensors::Wish::keep
  kernels::TileMethod method;
  bool is_half = true;  ///< encoding f16
};

struct Unsubscribe {
  std::string panel;
};

struct Credit {
  std::string panel;
  std::uint32_t frames = 1;
};

struct Ping {
  std::string id;  ///< as JSON; empty: there was none
};

/// Something that the program is asked to do.
struct Ask {
  std::string id;          ///< the client's, as JSON; empty: there was none
  nlohmann::json request;  ///< as the program gets it, without the server's `id`
};

struct BadRequest {
  std::string text;   ///< a sentence that names what is wrong
  std::string panel;  ///< empty: it is no panel's
};

using Request = std::variant<BadRequest, Subscribe, Unsubscribe, Credit, Ping, Ask>;

Request read_request(std::string_view text);

}  // namespace megascope::live
