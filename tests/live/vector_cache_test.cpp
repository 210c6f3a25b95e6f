#include "plugin/live/projection/vector_cache.h"

#include "plugin/live/protocol/bounds.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <fstream>

namespace megascope::live {
namespace {

using testing::HasSubstr;

class LiveVectorCache : public testing::Test {
 protected:
  /// A file of one row of float16, which takes twice as much here: `first`, and zeros.
  void write(const std::string& name, std::size_t columns, std::uint16_t first) {
    std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, " +
                         std::to_string(columns) + "), }";
    header.resize(118, ' ');
    std::vector<std::uint16_t> values(columns);
    values[0] = first;
    std::ofstream file(directory_ / name, std::ios::binary);
    file.write("\x93NUMPY\x01\x00\x76\x00", 10);
    file << header;
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(columns * 2));
  }
  std::shared_ptr<const NpyArray> take(const std::string& name) {
    std::shared_ptr<const NpyArray> vector;
    const Status status = cache_.take(directory_.path(), name, vector);
    if (!status.is_ok()) refusal_ = status.message();
    return vector;
  }

  const test::TemporaryDirectory directory_;
  std::string refusal_;
  VectorCache cache_;
};

constexpr std::uint16_t kTwo = 0x4000;
constexpr std::uint16_t kMinusOne = 0xBC00;

TEST_F(LiveVectorCache, HasEachOnceWhoeverAsks) {
  write("a.npy", 3, kTwo);
  write("b.npy", 3, kTwo);
  const auto first = take("a.npy");
  ASSERT_NE(first, nullptr) << refusal_;
  EXPECT_THAT(first->values, testing::ElementsAre(1, 0, 0)) << "of length 1";
  EXPECT_EQ(take("a.npy"), first);
  EXPECT_EQ(take("b.npy"), first) << "the same numbers";
  write("a.npy", 3, kMinusOne);
  const auto changed = take("a.npy");
  EXPECT_THAT(changed->values, testing::ElementsAre(-1, 0, 0)) << "the file as it is now";
  EXPECT_THAT(first->values, testing::ElementsAre(1, 0, 0)) << "and no client's changes under way";
}

TEST_F(LiveVectorCache, HoldsNoMoreThanIsAllowedAtOnce) {
  const std::size_t columns = kMaxNpyBytes / 2 - 64;  // a little below 32 MiB here
  for (const std::uint16_t first : {kTwo, kMinusOne})
    write(first == kTwo ? "a.npy" : "b.npy", columns, first);
  write("small.npy", 300, kTwo);
  auto a = take("a.npy");
  const auto b = take("b.npy");
  ASSERT_TRUE(a && b) << refusal_;
  const auto small = take("small.npy");
  EXPECT_EQ(small, nullptr);
  EXPECT_THAT(refusal_, HasSubstr("would exceed 64 MiB"));
  EXPECT_EQ(take("a.npy"), a) << "what is there takes no space";
  a.reset();
  EXPECT_NE(take("small.npy"), nullptr) << "no client has the other any more";
}

}  // namespace
}  // namespace megascope::live
