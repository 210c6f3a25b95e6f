#include "plugin/live/hub/hub.h"

#include <cstddef>
#include <cstdint>
#include <span>

/// Anything that ranks write and blocks hold, with a client that wants all of it. The first byte
/// says which.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace megascope::live;
  if (size == 0) return 0;
  megascope::LiveSettings settings;
  settings.world_size = 3;
  Hub hub(settings);
  const auto client = hub.connect(0);
  hub.receive(*client, R"({"type":"subscribe","panel":"a","what":"tensor","name":"*"})", 1);
  hub.receive(*client, R"({"type":"subscribe","panel":"b","what":"statistics"})", 1);
  hub.receive(*client, R"({"type":"subscribe","panel":"c","what":"counters"})", 1);
  hub.receive(*client, R"({"type":"subscribe","panel":"d","what":"steps"})", 1);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  if (data[0] % 2 == 0)
    hub.take_block(bytes);
  else
    hub.take_rank_update(data[0] % 3, bytes, 2);
  hub.end(false, 3);
  Outgoing message;
  while (hub.next(*client, 3, message)) {
  }
  return 0;
}
