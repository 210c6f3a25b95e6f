#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "plugin/live/compat_hub.h"
#include "plugin/live/compat_requests.h"
#include "plugin/live/npy_file.h"

/// Whatever a client of the compatibility endpoint says, a client that says it, and the same bytes as a .npy file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace megascope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const live::CompatRequest request = live::read_compat_request(text);
  if (const auto* bad = std::get_if<live::CompatBad>(&request); bad != nullptr && bad->text.empty()) __builtin_trap();
  if (const auto* generate = std::get_if<live::CompatGenerate>(&request); generate != nullptr && !generate->request.is_object()) __builtin_trap();
  LiveSettings settings;
  settings.is_control_allowed = true;
  live::Hub hub(settings);
  live::CompatHub compat(hub);
  hub.desk().open();
  const auto client = compat.connect(0);
  compat.receive(*client, text, 1);
  live::Outgoing message;
  while (compat.next(*client, 1, message)) {
  }
  live::NpyArray array;
  if (live::read_npy(std::as_bytes(std::span(data, size)), array).is_ok()) {
    if (array.values.size() != array.rows * array.columns) __builtin_trap();
    live::normalise_rows(array);
  }
  return 0;
}
