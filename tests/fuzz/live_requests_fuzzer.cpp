#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/requests.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

/// Anything that a client says, and then a client that says it to a hub.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace megascope::live;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Request request = read_request(text);
  if (const auto* subscribe = std::get_if<Subscribe>(&request);
      subscribe != nullptr && subscribe->names.empty())
    __builtin_trap();
  Hub hub({});
  const auto client = hub.connect(0);
  hub.receive(*client, text, 1);
  Outgoing message;
  while (hub.next(*client, 1, message)) {
  }
  return 0;
}
