#pragma once

#include "core/base/status.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace megascope::importer {

enum class OperationKind : std::uint8_t { kCompute, kSend, kRecv, kExchange, kCollective };

/// What an operation of a training job is, by its name.
struct OperationSemantics {
  OperationKind kind = OperationKind::kCompute;
  std::string over;  ///< messages, collectives: the dimension ("dp", "tp", "pp"), "world", or "pp
                     ///< ends": first and last stage
  std::int32_t to = 0;  ///< messages: where the receiver is along the dimension, from here; of an
                        ///< exchange both ways
  std::int32_t from = 0;
  std::string channel;  ///< messages: what goes there; sends go with receives of the same channel
  std::string channel_back;  ///< exchanges: of what is received
  CollectiveOp op = CollectiveOp::kNone;
};

/// The operations that are known by name, as a JSON object: {"forward-send": {"kind": "send",
/// "over": "pp", "to": 1, "channel": "forward"}}. Others are compute.
class OperationTable {
 public:
  /// The names of the common frameworks, as they are shipped.
  static std::string_view shipped();
  /// text: as of shipped(). An error names the operation and what is wrong with it.
  static Status parse(std::string_view text, OperationTable& table);

  const OperationSemantics& of(const std::string& name) const;

 private:
  std::map<std::string, OperationSemantics, std::less<>> by_name_;
  OperationSemantics compute_;
};

}  // namespace megascope::importer
