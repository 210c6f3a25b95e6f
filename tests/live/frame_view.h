#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace megascope::test {

/// A frame as a client reads it.
struct FrameView {
  int kind = 0;
  int flags = 0;
  nlohmann::json metadata;
  std::vector<std::byte> payload;

  explicit FrameView(const std::vector<std::byte>& frame)
      : kind(static_cast<int>(frame.at(4))), flags(static_cast<int>(frame.at(5))) {
    std::uint32_t length = 0;
    std::memcpy(&length, frame.data() + 12, sizeof length);
    const auto* text = reinterpret_cast<const char*>(frame.data() + 16);
    metadata = nlohmann::json::parse(text, text + length);
    payload.assign(frame.begin() + 16 + (length + 7) / 8 * 8, frame.end());
  }
  template <class Value>
  Value at(std::size_t byte) const {
    Value value;
    std::memcpy(&value, payload.data() + byte, sizeof value);
    return value;
  }
};

}  // namespace megascope::test
