#include "plugin/live/protocol/frames.h"

#include "kernels/elements.h"
#include "plugin/live/server/inbox.h"

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <new>

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
    const double above = half == 0x7BFF ? 65536.0
                                        : kernels::from_half(static_cast<std::uint16_t>(half + 1));
    const double below = half == 0 ? -above
                                   : kernels::from_half(static_cast<std::uint16_t>(half - 1));
    const double exact = value;
    ASSERT_TRUE(exact - below >= found - exact && above - exact >= exact - found) << value;
    const bool is_halfway = above - exact == exact - found || exact - below == found - exact;
    ASSERT_TRUE(!is_halfway || half % 2 == 0) << value;
  }
}

/// Values of any magnitude come back with binary16's 11 bits, as far as they are not 2^29 times
/// smaller than the largest.
TEST(LiveHalves, ScaledOnesAreNeitherInfiniteNorZero) {
  for (const float unit : {1.0F, 70'000.0F, 1e-9F, 3e38F, 1e-30F}) {
    const std::array<float, 5> values{unit, -unit, unit / 3, unit * 1e-6F, 0.0F};
    const float scale = half_scale(values);
    EXPECT_EQ(std::frexp(scale, std::array<int, 1>{}.data()), 0.5F) << "a power of two";
    std::array<std::uint16_t, 5> halves{};
    to_halves(values, reinterpret_cast<std::byte*>(halves.data()), scale);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double found = kernels::from_half(halves[i]) * static_cast<double>(scale);
      EXPECT_NEAR(found, values[i], std::abs(static_cast<double>(values[i])) / 2048)
          << unit << " " << i;
    }
  }
}

TEST(LiveHalves, TheScaleIsOfFiniteValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(half_scale(std::array{kInfinity, std::numeric_limits<float>::quiet_NaN(), -40'000.0F}),
            2.0F);
  EXPECT_EQ(half_scale(std::array{kInfinity, 0.0F}), 1.0F);
  EXPECT_EQ(half_scale({}), 1.0F);
  const std::array values{kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e30F};
  std::array<std::uint16_t, 4> halves{};
  to_halves(values, reinterpret_cast<std::byte*>(halves.data()), half_scale(values));
  EXPECT_EQ(halves[0], 0x7C00);
  EXPECT_EQ(halves[1], 0xFC00);
  EXPECT_EQ(halves[2], 0x7E00);
  EXPECT_LT(halves[3], 0x7C00);
}

TEST(LiveFrames, AreLaidOutAsTheProtocolSays) {
  Frame frame({.kind = FrameKind::kTensor, .has_loss = true, .number = 0x01020304}, R"({"a":1})",
              16);
  const std::array<std::uint16_t, 3> numbers{1, 2, 3};
  const std::array<double, 1> two{2.0};
  frame.add_array(std::span<const std::uint16_t>(numbers));
  frame.add_array(std::span<const double>(two));
  const std::vector<std::byte> bytes = frame.take();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text, std::string("MSL1\x04\x01\0\0\x04\x03\x02\x01\x07\0\0\0{\"a\":1}"
                              "\0\x01\0\x02\0\x03\0\0\0\0\0\0\0\0\0\0\x40",
                              40));
}

TEST(LiveInbox, KeepsTheOrderAndItsBound) {
  Inbox inbox;
  const std::vector<std::byte> megabyte(std::size_t{1} << 20);
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(inbox.put(LiveKind::kRankUpdate, i, megabyte));
  EXPECT_FALSE(inbox.put(LiveKind::kBlock, 32, megabyte));
  EXPECT_EQ(inbox.take_refused(), 1U);
  std::int32_t next = 0;
  inbox.take_all([&](const Inbox::Item& item) { EXPECT_EQ(item.world_rank, next++); });
  EXPECT_EQ(next, 32);
  EXPECT_TRUE(inbox.put(LiveKind::kBlock, 0, megabyte)) << "there is space again";
  std::vector<std::byte> whole(kMaxInboxBytes, std::byte{7});
  EXPECT_FALSE(inbox.put_whole(LiveKind::kRankUpdate, 0, std::move(whole)));
  ASSERT_EQ(whole.size(), kMaxInboxBytes) << "it stays whose it is";
  EXPECT_EQ(inbox.take_refused(), 1U);
  inbox.take_all([](const Inbox::Item&) {});
  EXPECT_TRUE(inbox.put_whole(LiveKind::kRankUpdate, 0, std::move(whole)));
  EXPECT_FALSE(inbox.put(LiveKind::kBlock, 0, megabyte));
}

TEST(LiveInbox, IsWholeAfterSomebodyWhoTakesThrew) {
  Inbox inbox;
  const std::vector<std::byte> megabyte(std::size_t{1} << 20);
  for (int i = 0; i < 32; ++i) inbox.put(LiveKind::kRankUpdate, i, megabyte);
  std::vector<std::int32_t> seen;
  const auto take = [&](const Inbox::Item& item) {
    seen.push_back(item.world_rank);
    if (item.world_rank == 2) throw std::bad_alloc();
  };
  EXPECT_THROW(inbox.take_all(take), std::bad_alloc);
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2));
  for (int i = 32; i < 35; ++i)
    EXPECT_TRUE(inbox.put(LiveKind::kRankUpdate, i, megabyte)) << "what was taken has given space";
  EXPECT_FALSE(inbox.put(LiveKind::kRankUpdate, 35, megabyte));
  seen.clear();
  inbox.take_all([&](const Inbox::Item& item) { seen.push_back(item.world_rank); });
  ASSERT_EQ(seen.size(), 32U);
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], static_cast<std::int32_t>(i) + 3);
}

}  // namespace
}  // namespace megascope::live
