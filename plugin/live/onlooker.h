#pragma once

#include "plugin/live/request_desk.h"
#include "plugin/live/shelf.h"
#include "plugin/tensors/letter.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace megascope::live {

/// The reason that is counted where a client does not read what it asked for.
inline constexpr const char* kLostTokens = "tokens of texts for clients that do not read";

/// Who looks at what the hub hears beside the hub's own clients. The hub's thread.
class Onlooker {
 public:
  virtual ~Onlooker() = default;
  /// A view came onto the shelf.
  virtual void hear_of(const Shelf::Place& place, std::int64_t now_ns) = 0;
  /// Why something is not captured.
  virtual void hear(const tensors::Notice& notice) = 0;
  /// The program answered a request of one that `asker` names.
  virtual void hear(const Asker& asker, const nlohmann::json& reply) = 0;
  virtual void hear_end() = 0;
};

}  // namespace megascope::live
