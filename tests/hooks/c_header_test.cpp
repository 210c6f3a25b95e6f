#include "core/base/version.h"
#include "core/hooks/refusals.h"
#include "plugin/api/megascope/megascope.h"
#include "tests/hooks/recorded_hooks.h"

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

extern "C" {
megascope_tensor_view tensor_init_of_c();
megascope_where where_init_of_c();
}

namespace megascope::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Object>
std::array<unsigned char, sizeof(Object)> bytes_of(const Object& object) {
  std::array<unsigned char, sizeof(Object)> bytes{};
  std::memcpy(bytes.data(), &object, sizeof object);
  return bytes;
}

template <class Value, std::size_t N>
void put(std::array<unsigned char, N>& bytes, std::size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

TEST(CHeader, TheLayoutsOfPublishedStructsAreThoseOfVersion01) {
  EXPECT_EQ(sizeof(megascope_where), 24u);
  EXPECT_EQ(offsetof(megascope_where, micro_batch), 0u);
  EXPECT_EQ(offsetof(megascope_where, chunk), 8u);
  EXPECT_EQ(offsetof(megascope_where, layer), 16u);

  EXPECT_EQ(sizeof(megascope_tensor_view), 160u);
  EXPECT_EQ(offsetof(megascope_tensor_view, size_bytes), 0u);
  EXPECT_EQ(offsetof(megascope_tensor_view, name), 8u);
  EXPECT_EQ(offsetof(megascope_tensor_view, kind), 16u);
  EXPECT_EQ(offsetof(megascope_tensor_view, dtype), 20u);
  EXPECT_EQ(offsetof(megascope_tensor_view, layer), 24u);
  EXPECT_EQ(offsetof(megascope_tensor_view, micro_batch), 28u);
  EXPECT_EQ(offsetof(megascope_tensor_view, data), 32u);
  EXPECT_EQ(offsetof(megascope_tensor_view, is_on_device), 40u);
  EXPECT_EQ(offsetof(megascope_tensor_view, dimensions), 44u);
  EXPECT_EQ(offsetof(megascope_tensor_view, shape), 48u);
  EXPECT_EQ(offsetof(megascope_tensor_view, strides), 112u);
  EXPECT_EQ(offsetof(megascope_tensor_view, stream), 120u);
  EXPECT_EQ(offsetof(megascope_tensor_view, is_split), 128u);
  EXPECT_EQ(offsetof(megascope_tensor_view, split_dimension), 132u);
  EXPECT_EQ(offsetof(megascope_tensor_view, blocks), 136u);
  EXPECT_EQ(offsetof(megascope_tensor_view, split_group), 152u);

  EXPECT_EQ(sizeof(megascope_hooks_table), 152u);
  EXPECT_EQ(offsetof(megascope_hooks_table, region_define), 8u);
  EXPECT_EQ(offsetof(megascope_hooks_table, step_begin), 40u);
  EXPECT_EQ(offsetof(megascope_hooks_table, tensor), 96u);
  EXPECT_EQ(offsetof(megascope_hooks_table, last_error), 120u);
  EXPECT_EQ(offsetof(megascope_hooks_table, reply), 144u);
}

TEST(CHeader, TheInitialiserOfTensorsAppliesToNoLayerAndHasNoType) {
  std::array<unsigned char, 160> expected{};
  put<std::uint64_t>(expected, 0, 160);
  put<std::int32_t>(expected, 16, 11);  // MEGASCOPE_KIND_OTHER
  put<std::int32_t>(expected, 20, -1);  // no type
  put<std::int32_t>(expected, 24, -1);  // no layer
  put<std::int32_t>(expected, 28, -1);  // no micro-batch
  const megascope_tensor_view view = MEGASCOPE_TENSOR_INIT;
  EXPECT_EQ(bytes_of(view), expected);
  EXPECT_EQ(bytes_of(tensor_init_of_c()), expected);
}

TEST(CHeader, TheInitialiserOfPositionsHasNoMemberThatApplies) {
  const std::array<std::int64_t, 3> expected{-1, -1, -1};
  const megascope_where where = MEGASCOPE_WHERE_INIT;
  EXPECT_EQ(std::memcmp(&where, &expected, sizeof where), 0);
  const megascope_where of_c = where_init_of_c();
  EXPECT_EQ(std::memcmp(&of_c, &expected, sizeof of_c), 0);
}

TEST(CHeader, ItsVersionIsThatOfTheLibrary) {
  EXPECT_EQ(std::to_string(MEGASCOPE_VERSION_MAJOR) + "." +
                std::to_string(MEGASCOPE_VERSION_MINOR) + "." +
                std::to_string(MEGASCOPE_VERSION_PATCH),
            kVersion);
  EXPECT_EQ(MEGASCOPE_VERSION, MEGASCOPE_VERSION_MAJOR * 10000 + MEGASCOPE_VERSION_MINOR * 100 +
                                   MEGASCOPE_VERSION_PATCH);
}

TEST(CHeader, EnumeratorsWithAPrefixEqualThoseOfVersion01) {
  const auto number = [](auto enumerator) { return static_cast<int>(enumerator); };
  const int kinds[][2] = {
      {number(MEGASCOPE_WEIGHT), number(MEGASCOPE_KIND_WEIGHT)},
      {number(MEGASCOPE_WEIGHT_UPDATED), number(MEGASCOPE_KIND_WEIGHT_UPDATED)},
      {number(MEGASCOPE_GRAD_UNREDUCED), number(MEGASCOPE_KIND_GRAD_UNREDUCED)},
      {number(MEGASCOPE_GRAD_REDUCED), number(MEGASCOPE_KIND_GRAD_REDUCED)},
      {number(MEGASCOPE_ACTV_IN), number(MEGASCOPE_KIND_ACTV_IN)},
      {number(MEGASCOPE_ACTV_OUT), number(MEGASCOPE_KIND_ACTV_OUT)},
      {number(MEGASCOPE_ACTV_GRAD_IN), number(MEGASCOPE_KIND_ACTV_GRAD_IN)},
      {number(MEGASCOPE_ACTV_GRAD_OUT), number(MEGASCOPE_KIND_ACTV_GRAD_OUT)},
      {number(MEGASCOPE_EXP_AVG), number(MEGASCOPE_KIND_EXP_AVG)},
      {number(MEGASCOPE_EXP_AVG_SQ), number(MEGASCOPE_KIND_EXP_AVG_SQ)},
      {number(MEGASCOPE_INPUT_TOKENS), number(MEGASCOPE_KIND_INPUT_TOKENS)},
      {number(MEGASCOPE_OTHER), number(MEGASCOPE_KIND_OTHER)},
  };
  for (int i = 0; i < 12; ++i) EXPECT_THAT(kinds[i], ElementsAre(i, i));
  const int types[][2] = {
      {number(MEGASCOPE_FLOAT64), number(MEGASCOPE_DTYPE_FLOAT64)},
      {number(MEGASCOPE_FLOAT32), number(MEGASCOPE_DTYPE_FLOAT32)},
      {number(MEGASCOPE_FLOAT16), number(MEGASCOPE_DTYPE_FLOAT16)},
      {number(MEGASCOPE_BFLOAT16), number(MEGASCOPE_DTYPE_BFLOAT16)},
      {number(MEGASCOPE_INT8), number(MEGASCOPE_DTYPE_INT8)},
      {number(MEGASCOPE_INT16), number(MEGASCOPE_DTYPE_INT16)},
      {number(MEGASCOPE_INT32), number(MEGASCOPE_DTYPE_INT32)},
      {number(MEGASCOPE_INT64), number(MEGASCOPE_DTYPE_INT64)},
      {number(MEGASCOPE_UINT8), number(MEGASCOPE_DTYPE_UINT8)},
      {number(MEGASCOPE_UINT16), number(MEGASCOPE_DTYPE_UINT16)},
      {number(MEGASCOPE_UINT32), number(MEGASCOPE_DTYPE_UINT32)},
      {number(MEGASCOPE_UINT64), number(MEGASCOPE_DTYPE_UINT64)},
  };
  for (int i = 0; i < 12; ++i) EXPECT_THAT(types[i], ElementsAre(i, i));
}

class CHeaderRecorder : public HookRecorder {};

TEST_F(CHeaderRecorder, APositionOutOfRangeIsRefusedAndTheRegionIsRecorded) {
  ASSERT_TRUE(in_child([](Recorder&) {
    const megascope_region forward = megascope_region_define("forward");
    const auto enter_in = [forward](std::int64_t micro_batch) {
      megascope_where where = MEGASCOPE_WHERE_INIT;
      where.micro_batch = micro_batch;
      megascope_region_enter_at(forward, &where);
      pause();
      megascope_region_leave(forward);
      pause();
    };
    enter_in(std::numeric_limits<std::int32_t>::max());
    enter_in(MEGASCOPE_NOWHERE);
    EXPECT_STREQ(megascope_last_error(), "");
    enter_in(std::int64_t{1} << 31);
    EXPECT_THAT(megascope_last_error(), HasSubstr("megascope_region_enter_at"));
    enter_in(-2);
  }));
  EXPECT_THAT(outline(), ElementsAre("forward", "forward", "forward", "forward"));
  EXPECT_EQ(losses(LossCause::kRefused), 2u);
}

TEST_F(CHeaderRecorder, ATensorOutOfRangeIsRefused) {
  ASSERT_TRUE(in_child([](Recorder&) {
    const float value = 1.0F;
    megascope_tensor_view view = MEGASCOPE_TENSOR_INIT;
    view.name = "scalar";
    view.data = &value;
    megascope_tensor(&view);  // 1: no type
    EXPECT_THAT(megascope_last_error(), HasSubstr("dtype"));
    view.dtype = MEGASCOPE_DTYPE_FLOAT32;
    view.micro_batch = std::numeric_limits<std::int32_t>::max();
    megascope_tensor(&view);
    EXPECT_THAT(megascope_last_error(), HasSubstr("dtype"));
    view.micro_batch = -2;  // 2
    megascope_tensor(&view);
    EXPECT_THAT(megascope_last_error(), HasSubstr("micro_batch"));
    view.micro_batch = MEGASCOPE_NOWHERE;
    view.layer = -7;  // 3
    megascope_tensor(&view);
    EXPECT_THAT(megascope_last_error(), HasSubstr("layer"));
  }));
  EXPECT_EQ(losses(LossCause::kRefused), 3u);
}

}  // namespace
}  // namespace megascope::hooks
