#pragma once

#include "core/base/status.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace megascope::importer {

enum class OperationKind : std::uint8_t {
  kCompute,   ///< computation
  kSend,      ///< sends one message
  kRecv,      ///< receives one message
  kExchange,  ///< sends one message and receives one
  kCollective
};

/// Type of an operation of a training job, by its name.
struct OperationSemantics {
  OperationKind kind = OperationKind::kCompute;
  std::string over;  ///< messages, collectives: the ranks that communicate. "dp", "tp" or "pp": the
                     ///< ranks along this dimension. "world": all ranks. "pp ends": the ranks of
                     ///< the first and of the last stage
  std::int32_t to = 0;  ///< messages: distance of the receiver from the sender along the dimension.
                        ///< Exchanges: distance of the partner to which the operation sends
  std::int32_t from = 0;  ///< distance of the partner from which the operation receives
  std::string
      channel;  ///< messages: name of the channel. A send matches a receive with the same channel
  std::string channel_back;  ///< exchanges: channel of the received message
  CollectiveOp op = CollectiveOp::kNone;
};

/// Table of operation names, read from a JSON object: {"forward-send": {"kind": "send", "over":
/// "pp", "to": 1, "channel": "forward"}}. Other names are computation.
class OperationTable {
 public:
  /// The built-in table with the names of common frameworks.
  static std::string_view shipped();
  /// text: in the format of shipped(). Errors name the operation and state what is wrong.
  static Status parse(std::string_view text, OperationTable& table);

  const OperationSemantics& of(const std::string& name) const;

 private:
  std::map<std::string, OperationSemantics, std::less<>> by_name_;
  OperationSemantics compute_;
};

}  // namespace megascope::importer
