#include "core/encoding/hook_words.h"

#include "core/trace/hook_decoder.h"

#include <gmock/gmock.h>

#include <random>

namespace megascope::trace {
namespace {

using encoding::Word;
using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::uint64_t kBase = 1'000'000;

class Words {
 public:
  template <class Encode>
  void add(Encode encode) {
    Word words[32] = {};
    const Word* end = encode(words);
    all_.insert(all_.end(), static_cast<const Word*>(words), end);
  }
  void word(Word value) { all_.push_back(value); }
  const std::vector<Word>& all() const { return all_; }

 private:
  std::vector<Word> all_;
};

TEST(HookWords, ValuesOfAnySizeComeBack) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{7}, std::int64_t{INT32_MAX},
        std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX} + 1, std::int64_t{INT64_MAX},
        std::int64_t{INT64_MIN}}) {
    Words words;
    words.word(hook_words::timed(kBase + 5, kBase, 1024));
    words.add([&](Word* to) { return hook_words::encode_value(to, ValueName::kStep, value); });
    words.add([&](Word* to) { return hook_words::encode_value(to, ValueName::kLayer, 3); });
    HookDecoder decoder;
    decoder.begin_chunk(words.all(), kBase);
    HookRecord record;
    ASSERT_TRUE(decoder.next(record));
    EXPECT_EQ(record.kind, HookRecord::Kind::kEnter);
    EXPECT_EQ(record.region, 1024);
    EXPECT_EQ(record.ticks, kBase + 5);
    EXPECT_THAT(record.values,
                ElementsAre(value_fact(ValueName::kStep, value), value_fact(ValueName::kLayer, 3)));
    EXPECT_FALSE(decoder.next(record));
    EXPECT_EQ(decoder.damaged_count(), 0u);
  }
}

TEST(HookWords, PointsComeBackWithTimesBeforeAndAfterTheBase) {
  TensorShape shape{.kind = TensorKind::kGradReduced,
                    .type = ElementType::kBfloat16,
                    .layer = 12,
                    .micro_batch = -1,
                    .split_dimension = 1,
                    .dimension_count = 3,
                    .extents = {4, std::uint64_t{1} << 40, 0}};
  Words words;
  words.add([](Word* to) { return hook_words::encode_counter(to, kBase - 7, kBase, 3, -0.25); });
  words.add([](Word* to) {
    return hook_words::encode_mark(to, kBase + (std::uint64_t{1} << 46), kBase, 2000);
  });
  words.word(encoding::kTimeBase);
  words.word(2 * kBase);
  words.add(
      [&](Word* to) { return hook_words::encode_tensor(to, 2 * kBase + 1, 2 * kBase, 9, shape); });
  HookDecoder decoder;
  decoder.begin_chunk(words.all(), kBase);
  HookRecord record;
  ASSERT_TRUE(decoder.next(record));
  EXPECT_EQ(record.ticks, kBase - 7);
  EXPECT_EQ(record.point,
            (Point{.time_ns = 0, .kind = PointKind::kCounter, .id = 3, .value = -0.25}));
  ASSERT_TRUE(decoder.next(record));
  EXPECT_EQ(record.ticks, kBase + (std::uint64_t{1} << 46));
  EXPECT_EQ(record.point, (Point{.time_ns = 0, .kind = PointKind::kMark, .id = 2000}));
  ASSERT_TRUE(decoder.next(record));
  EXPECT_EQ(record.ticks, 2 * kBase + 1);
  EXPECT_EQ(
      record.point,
      (Point{.time_ns = 0, .kind = PointKind::kTensor, .id = 9, .value = 0, .tensor = shape}));
  EXPECT_FALSE(decoder.next(record));
}

TEST(HookWords, RangesComeBackAndCountWhereTheyStart) {
  Words words;
  words.add([](Word* to) {
    return hook_words::encode_range_start(to, kBase + 3, kBase, 1024, std::uint64_t{1} << 63);
  });
  words.add([](Word* to) {
    return hook_words::encode_range_stop(to, kBase + 40, kBase, 1024, std::uint64_t{1} << 63,
                                         kBase + 3);
  });
  words.add([](Word* to) {
    return hook_words::encode_range_stop(to, kBase + 41, kBase, 1025, 7, kBase + 50);
  });  // started later: at once
  HookDecoder decoder;
  decoder.begin_chunk(words.all(), kBase);
  HookRecord record;
  ASSERT_TRUE(decoder.next(record));
  EXPECT_EQ(record.ticks, kBase + 3);
  EXPECT_EQ(record.point, (Point{.time_ns = 0,
                                 .kind = PointKind::kRangeStart,
                                 .id = 1024,
                                 .range = std::uint64_t{1} << 63}));
  ASSERT_TRUE(decoder.next(record));
  EXPECT_EQ(record.ticks, kBase + 40);
  EXPECT_EQ(record.start_ticks, kBase + 3);
  EXPECT_EQ(record.point, (Point{.time_ns = 0,
                                 .kind = PointKind::kRangeStop,
                                 .id = 1024,
                                 .range = std::uint64_t{1} << 63}));
  ASSERT_TRUE(decoder.next(record));
  EXPECT_EQ(record.start_ticks, kBase + 41);
  EXPECT_FALSE(decoder.next(record));
  Profile profile;
  decoder.begin_chunk(words.all(), kBase);
  EXPECT_EQ(decoder.add_all_to(profile), 3u);
  EXPECT_THAT(profile.regions().rows(),
              ElementsAre((RegionTotals{.region = 1024, .count = 1, .time = 37, .max_time = 37}),
                          (RegionTotals{.region = 1025, .count = 0, .time = 0, .max_time = 0})));
}

TEST(HookWords, RangesThatAreNoneEndTheChunk) {
  for (const Word name : {Word{0}, Word{kFirstReservedRegion}, Word{1} << 16 | 1024}) {
    for (const unsigned what : {hook_words::kRangeStart, hook_words::kRangeStop}) {
      const std::vector<Word> words = {hook_words::timed(kBase, kBase, what), name, 1, kBase};
      HookDecoder decoder;
      decoder.begin_chunk(words, kBase);
      HookRecord record;
      EXPECT_FALSE(decoder.next(record));
      EXPECT_EQ(decoder.damaged_count(), 1u);
    }
  }
  const std::vector<Word> cut = {hook_words::timed(kBase, kBase, hook_words::kRangeStop), 1024, 1};
  HookDecoder decoder;
  decoder.begin_chunk(cut, kBase);
  HookRecord record;
  EXPECT_FALSE(decoder.next(record));
  EXPECT_EQ(decoder.damaged_count(), 1u);
}

TEST(HookWords, SumsOfRegionsGoOverChunksAndNest) {
  Words first;
  first.word(hook_words::timed(kBase, kBase, 1024));
  first.word(hook_words::timed(kBase + 10, kBase, 1025));
  first.word(hook_words::timed(kBase + 15, kBase, hook_words::kLeave));
  Words second;
  second.word(hook_words::timed(kBase + 20, kBase, 1025));
  second.word(hook_words::timed(kBase + 50, kBase, hook_words::kEnd));
  Profile profile;
  HookDecoder decoder;
  decoder.begin_chunk(first.all(), kBase);
  EXPECT_EQ(decoder.add_all_to(profile), 2u);
  decoder.begin_chunk(second.all(), kBase);
  EXPECT_EQ(decoder.add_all_to(profile), 1u);
  EXPECT_THAT(profile.regions().rows(),
              ElementsAre(RegionTotals{.region = 1025, .count = 2, .time = 35, .max_time = 30},
                          RegionTotals{.region = 1024, .count = 1, .time = 50, .max_time = 50}));
  EXPECT_TRUE(profile.is_empty()) << "regions are no calls of MPI";
}

TEST(HookWords, APieceOfARegionIsTimeAndNoRegion) {
  Words words;
  words.word(hook_words::timed(kBase, kBase, 1024));
  words.word(hook_words::timed(kBase + 5, kBase, hook_words::kLeave));
  words.word(hook_words::timed(kBase + 10, kBase, 1024));
  words.add([](Word* to) { return hook_words::encode_value(to, ValueName::kContinued, 1); });
  words.word(hook_words::timed(kBase + 12, kBase, hook_words::kLeave));
  Profile profile;
  HookDecoder decoder;
  decoder.begin_chunk(words.all(), kBase);
  decoder.add_all_to(profile);
  EXPECT_THAT(profile.regions().rows(),
              ElementsAre(RegionTotals{.region = 1024, .count = 1, .time = 7, .max_time = 5}));
}

TEST(HookWords, CutOrUnknownWordsEndTheChunkAndAreCounted) {
  const TensorShape shape{.kind = TensorKind::kWeight,
                          .type = ElementType::kFloat32,
                          .layer = -1,
                          .micro_batch = -1,
                          .split_dimension = -1,
                          .dimension_count = 2,
                          .extents = {3, 4}};
  Words whole;
  whole.add([&](Word* to) { return hook_words::encode_tensor(to, kBase, kBase, 0, shape); });
  for (std::size_t size = 1; size < whole.all().size(); ++size) {
    HookDecoder decoder;
    decoder.begin_chunk(std::span(whole.all()).first(size), kBase);
    HookRecord record;
    EXPECT_FALSE(decoder.next(record)) << size;
    EXPECT_EQ(decoder.damaged_count(), 1u);
  }
  for (const Word bad : {Word{0}, Word{0xFFFF}, Word{hook_words::kValue},
                         Word{hook_words::kWideValue}, Word{hook_words::kTensor}}) {
    const std::vector<Word> words{bad, 0};
    HookDecoder decoder;
    decoder.begin_chunk(words, kBase);
    HookRecord record;
    EXPECT_FALSE(decoder.next(record)) << std::hex << bad;
    EXPECT_EQ(decoder.damaged_count(), 1u) << std::hex << bad;
  }
}

TEST(HookWords, NoiseIsReadToItsEnd) {
  std::mt19937_64 random(17);
  constexpr Word kKinds[] = {0,      1,      1024,   0xFFE3, 0xFFE8, 0xFFE9, 0xFFEA, 0xFFEB,
                             0xFFEC, 0xFFED, 0xFFEE, 0xFFEF, 0xFFFF, 0xFF00, 0xFFE0, 2000};
  for (int round = 0; round < 2000; ++round) {
    std::vector<Word> words(random() % 40);
    for (Word& word : words) word = (random() << 16) | kKinds[random() % std::size(kKinds)];
    HookDecoder decoder;
    decoder.begin_chunk(words, kBase);
    Profile profile;
    EXPECT_LE(decoder.add_all_to(profile), words.size());
    EXPECT_LE(decoder.damaged_count(), 1u);
  }
}

}  // namespace
}  // namespace megascope::trace
