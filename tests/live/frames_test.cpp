#include "plugin/live/frames.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "kernels/elements.h"
#include "plugin/live/inbox.h"

namespace megascope::live {
namespace {

std::uint16_t half_of(float value) {
  std::uint16_t half = 0;
  to_halves({&value, 1}, reinterpret_cast<std::byte*>(&half));
  return half;
}

TEST(LiveHalves, EachHalfComesBackAsItIs) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = kernels::from_half(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = half_of(static_cast<float>(value));
    EXPECT_TRUE(std::isnan(value) ? std::isnan(kernels::from_half(back)) : back == bits) << bits;
  }
}

/// Of all floats with some of their bits: the half is the nearest, halfway the even one.
TEST(LiveHalves, RoundsToNearestEven) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 31); bits += 4093) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(value)) continue;
    const std::uint16_t half = half_of(value);
    ASSERT_EQ(half_of(-value), half | 0x8000);
    if (value >= 65520.0F) {
      ASSERT_EQ(half, 0x7C00) << value;
      continue;
    }
    const double found = kernels::from_half(half);
    const double above = half == 0x7BFF ? 65536.0 : kernels::from_half(static_cast<std::uint16_t>(half + 1));
    const double below = half == 0 ? -above : kernels::from_half(static_cast<std::uint16_t>(half - 1));
    const double exact = value;
    ASSERT_TRUE(exact - below >= found - exact && above - exact >= exact - found) << value;
    const bool is_halfway = above - exact == exact - found || exact - below == found - exact;
    ASSERT_TRUE(!is_halfway || half % 2 == 0) << value;
  }
}

TEST(LiveFrames, AreLaidOutAsTheProtocolSays) {
  Frame frame({.kind = FrameKind::kTensor, .has_loss = true, .number = 0x01020304}, R"({"a":1})", 16);
  const std::array<std::uint16_t, 3> numbers{1, 2, 3};
  const std::array<double, 1> two{2.0};
  frame.add_array(std::span<const std::uint16_t>(numbers));
  frame.add_array(std::span<const double>(two));
  const std::vector<std::byte> bytes = frame.take();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text, std::string("MSL1\x04\x01\0\0\x04\x03\x02\x01\x07\0\0\0{\"a\":1}\0\x01\0\x02\0\x03\0\0\0\0\0\0\0\0\0\0\x40", 40));
}

TEST(LiveInbox, KeepsTheOrderAndItsBound) {
  Inbox inbox;
  const std::vector<std::byte> megabyte(std::size_t{1} << 20);
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(inbox.put(LiveKind::kLetter, i, megabyte));
  EXPECT_FALSE(inbox.put(LiveKind::kBlock, 32, megabyte));
  EXPECT_EQ(inbox.take_refused(), 1U);
  std::int32_t next = 0;
  inbox.take_all([&](const Inbox::Item& item) { EXPECT_EQ(item.world_rank, next++); });
  EXPECT_EQ(next, 32);
  EXPECT_TRUE(inbox.put(LiveKind::kBlock, 0, megabyte)) << "there is room again";
}

}  // namespace
}  // namespace megascope::live
