#include "core/encoding/word_packer.h"

#include "core/encoding/encode_call.h"
#include "core/encoding/hook_words.h"
#include "core/encoding/word_unpacker.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

/// Words that are packed and unpacked are the same words, also words that no recorder writes.
namespace megascope::encoding {
namespace {

using Words = std::vector<Word>;
using Content = WordPacker::Content;

class WordPackerTest : public testing::Test {
 protected:
  std::vector<std::byte> pack(const Words& words, Content content = Content::kCalls) {
    std::vector<std::byte> bytes(words.size() * kMaxPackedRecordBytes + kMaxPackedRecordBytes);
    bytes.resize(packer_->pack(words, content, bytes));
    return bytes;
  }
  bool unpack(std::span<const std::byte> bytes, Words& words) {
    const std::vector<std::byte> exact(bytes.begin(), bytes.end());  // reading beyond it is found
    return unpacker_->unpack(exact, words);
  }
  /// Returns the number of packed bytes.
  std::size_t expect_same(const Words& words, Content content = Content::kCalls) {
    const std::vector<std::byte> bytes = pack(words, content);
    Words again(words.size(), 0x5555);
    EXPECT_TRUE(unpack(bytes, again));
    EXPECT_EQ(again, words);
    return bytes.size();
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  /// Appends a call that begins and ends some time after the last one.
  void call(Words& words, RegionId region, const Folded& folded, bool has_facts = false,
            Word duration = 0) {
    const CallWords own{.enter_ticks = now_ += 40 + below(100),
                        .duration = duration != 0 ? duration : 200 + below(400),
                        .region = region,
                        .comm = 1};
    Word to[kMaxCallWords];
    words.insert(words.end(), to, encode_call(to, own, folded, 0, has_facts));
    now_ += own.duration;
  }
  /// An iteration of a halo exchange with a reduction: 10 calls with new requests and a new
  /// sequence number each time.
  void iteration(Words& words) {
    for (const auto& [region, kind] : {std::pair{RegionId{20}, FactKind::kRecvRequest},
                                       std::pair{RegionId{21}, FactKind::kSendRequest}}) {
      for (std::int32_t peer = 0; peer < 4; ++peer)
        call(words, region, {kind, {pack_words(peer, 7), pack_words(4096, ++request_)}});
    }
    call(words, 30, {}, true);
    for (RequestId back = 8; back > 0; --back)
      words.push_back(short_fact(FactKind::kRecvComplete, request_ + 1 - back));
    call(words, 40, {FactKind::kCollective, {Word{sequence_++} << 32, pack_words(8, 8)}});
  }
  static Word pack_words(std::int32_t low, std::uint32_t high) {
    return Word{static_cast<std::uint32_t>(low)} | Word{high} << 32;
  }

  std::mt19937_64 random_{1};
  std::unique_ptr<WordPacker> packer_ = std::make_unique<WordPacker>();
  std::unique_ptr<WordUnpacker> unpacker_ = std::make_unique<WordUnpacker>();
  std::uint64_t now_ = 1000;
  RequestId request_ = 0;
  std::uint32_t sequence_ = 0;
};

TEST_F(WordPackerTest, NothingIsNoBytes) { EXPECT_EQ(expect_same({}), 0u); }

TEST_F(WordPackerTest, ARegularLoopTakesItsTimesOnly) {
  Words words;
  constexpr std::size_t kIterations = 700;
  for (std::size_t i = 0; i < kIterations; ++i) iteration(words);
  // 10 calls of head, gap and duration (1 + 1 + 2 bytes) and 8 completions of 1 byte
  EXPECT_LE(expect_same(words), kIterations * (10 * 4 + 8) * 104 / 100);
}

TEST_F(WordPackerTest, MessagesThatFollowNoRuleTakeHalf) {
  Words words;
  constexpr std::size_t kMessages = 8000;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const bool is_send = i % 2 == 0;
    call(words, is_send ? 10 : 11,
         {is_send ? FactKind::kSend : FactKind::kRecv,
          {pack_words(static_cast<std::int32_t>(below(64)), static_cast<std::uint32_t>(below(16))),
           pack_words(static_cast<std::int32_t>(below(100'000)), kNoRequest)}});
  }
  EXPECT_LE(expect_same(words), kMessages * 14);
}

TEST_F(WordPackerTest, LoopsOfMoreRecordsThanAreRememberedAreKept) {
  for (const std::int32_t peers : {254, 255, 256, 700}) {
    Words words;
    for (int round = 0; round < 5; ++round) {
      for (std::int32_t peer = 0; peer < peers; ++peer)
        call(words, 10, {FactKind::kSend, {pack_words(peer, 7), pack_words(64, kNoRequest)}});
    }
    const std::size_t bytes = expect_same(words);
    if (peers < 255) {
      EXPECT_LE(bytes, static_cast<std::size_t>(peers) * (10 + 4 * 5));
    }
  }
}

TEST_F(WordPackerTest, RecordsThatFollowEachOtherInTurnsAreFound) {
  Words words;
  constexpr std::size_t kRounds = 2000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    call(words, 10, {FactKind::kSend, {pack_words(1, 7), pack_words(64, kNoRequest)}});
    for (std::size_t again = below(4); again > 0; --again)
      call(words, 11, {FactKind::kRecv, {pack_words(2, 7), pack_words(64, kNoRequest)}});
  }
  const std::size_t calls = words.size() / 4;
  EXPECT_LE(expect_same(words), calls * 4 + 40) << "no call takes more than its times";
}

TEST_F(WordPackerTest, AnyWordsAreKept) {
  for (int round = 0; round < 300; ++round) {
    Words words(below(300));
    const std::uint64_t mask = ~std::uint64_t{0} >> below(64);
    for (Word& word : words) {
      word = random_() & mask;
      if (below(3) != 0)
        word = (word & ~Word{0xFFFF}) | (below(2) != 0 ? below(400) : 0xFFE0 + below(20));
    }
    expect_same(words, Content::kCalls);
    expect_same(words, Content::kHooks);
  }
}

TEST_F(WordPackerTest, EveryLayoutOfCallsAndFactsIsKept) {
  Words words;
  for (int round = 0; round < 200; ++round) {
    for (unsigned kind = 0; kind <= static_cast<unsigned>(kLastFactKind); ++kind) {
      const auto folded = static_cast<FactKind>(kind);
      if (call_words(folded) == kBareWords && folded != FactKind::kNone) {
        const Fact fact{.kind = folded,
                        .request = static_cast<RequestId>(round),
                        .tag = round % 3,
                        .bytes = round % 2 == 0 ? 0 : random_()};
        Word to[kMaxFactWords];
        words.insert(words.end(), to, to + encode_fact(fact, to));
      } else {
        call(words, static_cast<RegionId>(kind), {folded, {random_() % 64, 3, 4}}, round % 2 == 0);
      }
    }
  }
  EXPECT_LT(expect_same(words), words.size() * sizeof(Word) * 3 / 4);
}

TEST_F(WordPackerTest, TimesMayBeLongGoBackAndBeAnything) {
  Words words;
  for (const Word duration :
       {Word{1}, Word{255}, Word{256}, Word{65'536}, Word{1} << 24, Word{kLongDuration}}) {
    for (const std::int64_t step :
         {0LL, 255LL, 256LL, 65'536LL, 1LL << 32, -1LL, -(1LL << 46), 1LL << 45}) {
      now_ += static_cast<std::uint64_t>(step);
      call(words, 5, {}, false, duration);
    }
    words.insert(words.end(), {kTimeBase, random_()});
  }
  expect_same(words);
}

TEST_F(WordPackerTest, AnnotationsOfEveryKindAreKept) {
  using namespace hook_words;
  Words words;
  const auto take = [&](const Word* from, const Word* to) { words.insert(words.end(), from, to); };
  Word to[32];
  for (unsigned round = 0; round < 300; ++round) {
    words.push_back(timed(now_ += 100, 0, 1024));
    take(to, encode_value(to, ValueName{}, static_cast<std::int64_t>(round)));
    take(to, encode_value(to, ValueName{}, std::int64_t{1} << 40));
    take(to, encode_counter(to, now_ += 10, 0, 3, 1.0 / (1 + round)));
    take(to, encode_mark(to, now_ += 10, 0, 1025));
    TensorShape shape;
    shape.dimension_count = static_cast<std::uint8_t>(round % (kMaxTensorDimensions + 1));
    for (unsigned i = 0; i < shape.dimension_count; ++i) shape.extents[i] = std::uint64_t{64} << i;
    take(to, encode_tensor(to, now_ += 10, 0, 7, shape));
    take(to, encode_range_start(to, now_ += 10, 0, 1026, round));
    now_ += 10;
    take(to, encode_range_stop(to, now_, 0, 1026, round, now_ - 5));
    words.push_back(timed(now_ += 100, 0, kLeave));
  }
  words.push_back(timed(now_, 0, kEnd));
  EXPECT_LT(expect_same(words, Content::kHooks), words.size() * sizeof(Word) / 3);
}

/// The tables are bounded; more signatures than they hold only predict worse.
TEST_F(WordPackerTest, AMillionNewSignaturesAreKept) {
  for (int chunk = 0; chunk < 31; ++chunk) {
    Words words;
    while (words.size() < 32'000 * 4)
      call(words, static_cast<RegionId>(below(400)), {FactKind::kSend, {random_(), random_()}},
           false, 1 + below(kLongDuration));
    expect_same(words);
  }
}

TEST_F(WordPackerTest, TooLittleSpaceIsAnAnswer) {
  Words words;
  for (int i = 0; i < 100; ++i) iteration(words);
  const std::size_t size = pack(words).size();
  for (std::size_t space = 0; space < size + kMaxPackedRecordBytes; space += 97) {
    std::vector<std::byte> to(space);
    const std::size_t packed = packer_->pack(words, Content::kCalls, to);
    EXPECT_TRUE(packed == 0 || packed == size) << space;
  }
}

TEST_F(WordPackerTest, BytesThatAreCutOrTooManyAreRefused) {
  Words words;
  for (int i = 0; i < 20; ++i) iteration(words);
  std::vector<std::byte> bytes = pack(words);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Words again(words.size());
    EXPECT_FALSE(unpack(std::span(bytes).first(size), again)) << size;
  }
  Words fewer(words.size() - 1);
  EXPECT_FALSE(unpack(bytes, fewer));
  bytes.push_back(std::byte{0});
  Words again(words.size());
  EXPECT_FALSE(unpack(bytes, again));
}

/// Any bytes are refused, or give the words asked for and no more.
TEST_F(WordPackerTest, BytesOfNoPackerDoNoHarm) {
  Words words;
  for (int i = 0; i < 20; ++i) iteration(words);
  const std::vector<std::byte> bytes = pack(words);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> damaged = bytes;
    for (std::uint64_t i = 0; i <= below(4); ++i)
      damaged[below(damaged.size())] = static_cast<std::byte>(random_());
    Words again(words.size());
    (void)unpack(damaged, again);
  }
}

}  // namespace
}  // namespace megascope::encoding
