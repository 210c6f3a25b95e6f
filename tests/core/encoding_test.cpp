#include "core/encoding/encoding.h"

#include "core/encoding/call_decoder.h"
#include "tests/core/sample_trace.h"

#include <gmock/gmock.h>

#include <vector>

/// Words as docs/trace_format.md has them, written by hand.
namespace megascope::trace {
namespace {

using encoding::Word;
using testing::ElementsAre;

constexpr Word kWord0 = 0x0000'0000'0064'0007;  // entered 100 ticks after the base, region 7

std::vector<Word> encoded(const Fact& fact) {
  std::vector<Word> words(encoding::kMaxFactWords);
  words.resize(encoding::encode_fact(fact, words.data()));
  return words;
}

struct Decoded {
  Call call;
  std::vector<Fact> facts;
};

std::vector<Decoded> decoded(encoding::CallDecoder& decoder,
                             const std::vector<std::vector<Word>>& chunks,
                             std::uint64_t base = 1000) {
  std::vector<Decoded> calls;
  Call call;
  for (const auto& words : chunks) {
    decoder.begin_chunk(words, base);
    while (decoder.next(call)) calls.push_back({call, {call.facts.begin(), call.facts.end()}});
  }
  if (decoder.flush(call)) calls.push_back({call, {call.facts.begin(), call.facts.end()}});
  return calls;
}

std::vector<Decoded> decoded(const std::vector<Word>& words) {
  encoding::CallDecoder decoder;
  std::vector<Decoded> calls = decoded(decoder, {words});
  EXPECT_EQ(decoder.damaged_count(), 0u);
  return calls;
}

TEST(Fact, OfARequestAloneIsOneWord) {
  EXPECT_THAT(encoded({.kind = FactKind::kSendComplete, .request = 0xABCD}),
              ElementsAre(0x0000ABCD'0005'FFE0));
}

TEST(Fact, OfAMessageIsThreeWords) {
  EXPECT_THAT(encoded({.kind = FactKind::kRecvComplete,
                       .comm = 3,
                       .request = 9,
                       .peer = 2,
                       .tag = -1,
                       .bytes = 4096}),
              ElementsAre(0x00000009'0006'FFE1, 0xFFFFFFFF'00000002, 0x0003'000000001000));
}

TEST(Fact, WithALargeCommunicatorIsFiveWords) {
  EXPECT_THAT(encoded({.kind = FactKind::kSend, .comm = 0xFFFF, .peer = 1, .tag = 5, .bytes = 8}),
              ElementsAre(0x00000000'0001'FFE2, 0x00000000'0000FFFF, 0x00000005'00000001, 8, 0));
  EXPECT_THAT(encoded({.kind = FactKind::kSend, .comm = 0xFFFE, .peer = 1, .tag = 5, .bytes = 8}),
              ElementsAre(0x00000000'0001'FFE1, 0x00000005'00000001, 0xFFFE'000000000008))
      << "the largest that fits";
}

TEST(Fact, WithManyBytesIsFiveWords) {
  const Word limit = Word{1} << 48;
  EXPECT_EQ(encoded({.kind = FactKind::kSend, .comm = 1, .bytes = limit - 1}).size(), 3u);
  EXPECT_THAT(encoded({.kind = FactKind::kSend, .comm = 1, .peer = 0, .bytes = limit}),
              ElementsAre(0x00000000'0001'FFE2, 1, 0, limit, 0));
}

TEST(Fact, OfACollectiveIsFiveWords) {
  EXPECT_THAT(encoded({.kind = FactKind::kCollectiveRequest,
                       .comm = 2,
                       .request = 7,
                       .sequence = 11,
                       .peer = 0,
                       .bytes = 16,
                       .bytes_received = 32}),
              ElementsAre(0x00000007'000B'FFE2, 0x0000000B'00000002, 0, 16, 32));
}

TEST(Fact, ComesBackAsItWasInEveryForm) {
  const Fact facts[] = {
      {.kind = FactKind::kSendComplete, .request = 1},
      {.kind = FactKind::kMatched, .comm = 1, .request = 5, .peer = 3, .tag = 7, .bytes = 9},
      {.kind = FactKind::kError, .bytes = 15},
      {.kind = FactKind::kCommCreated, .comm = 70'000},
      {.kind = FactKind::kSend, .comm = kNoComm, .peer = -3, .tag = 1, .bytes = Word{1} << 50}};
  std::vector<Word> words = {kWord0, call_word1(4, 1, FactKind::kNone, encoding::kHasFacts)};
  for (const Fact& fact : facts) {
    for (const Word word : encoded(fact)) words.push_back(word);
  }
  const std::vector<Decoded> calls = decoded(words);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls[0].facts, testing::ElementsAreArray(facts));
}

TEST(CallWords, OfACallAlone) {
  const std::vector<Decoded> calls = decoded({kWord0, 0x00'00'0002'0000'0014});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.enter_ns, 1100u);
  EXPECT_EQ(calls[0].call.leave_ns, 1120u);
  EXPECT_EQ(calls[0].call.region, 7);
  EXPECT_EQ(calls[0].call.comm, 2u);
  EXPECT_EQ(calls[0].call.depth, 0);
  EXPECT_TRUE(calls[0].facts.empty());
}

TEST(CallWords, EnteredBeforeTheTimeBase) {
  const std::vector<Decoded> calls = decoded({0xFFFF'FFFF'FFFF'0007, 0x0000'FFFF'0000'0001});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.enter_ns, 999u);
  EXPECT_EQ(calls[0].call.comm, kNoComm);
}

TEST(CallWords, OfAMessage) {
  const std::vector<Decoded> calls = decoded(
      {kWord0, 0x00'03'0001'00000005, 0x0000002A'00000001, 0x00000009'00000028});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls[0].facts, ElementsAre(Fact{.kind = FactKind::kSendRequest,
                                               .comm = 1,
                                               .request = 9,
                                               .peer = 1,
                                               .tag = 42,
                                               .bytes = 40}));
}

TEST(CallWords, OfACollective) {
  const std::vector<Decoded> calls = decoded(
      {kWord0, 0x00'0A'0001'00000005, 0x00000003'00000002, 0x00000010'00000008});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls[0].facts, ElementsAre(Fact{.kind = FactKind::kCollective,
                                               .comm = 1,
                                               .sequence = 3,
                                               .peer = 2,
                                               .bytes = 8,
                                               .bytes_received = 16}));
}

TEST(CallWords, OfASendAndReceive) {
  const std::vector<Decoded> calls = decoded({kWord0, 0x00'12'0000'00000005, 0x00000003'00000001,
                                              0x00000006'00000005, 0x00000008'00000007});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(
      calls[0].facts,
      ElementsAre(Fact{.kind = FactKind::kSend, .comm = 0, .peer = 1, .tag = 5, .bytes = 7},
                  Fact{.kind = FactKind::kRecv, .comm = 0, .peer = 3, .tag = 6, .bytes = 8}));
}

TEST(CallWords, OfAPutAndAGet) {
  const std::vector<Decoded> calls = decoded({kWord0, 0x00'14'0001'00000005, 0x00000004'00000002,
                                              0x00000009'00000028, kWord0, 0x00'1A'0001'00000005,
                                              0x00000004'00000002, 0x0000000A'00000010});
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_THAT(calls[0].facts, ElementsAre(Fact{.kind = FactKind::kPut,
                                               .comm = 1,
                                               .request = 9,
                                               .peer = 2,
                                               .tag = window_field(4),
                                               .bytes = 40}));
  EXPECT_THAT(calls[1].facts, ElementsAre(Fact{.kind = FactKind::kRget,
                                               .comm = 1,
                                               .request = 10,
                                               .peer = 2,
                                               .tag = window_field(4),
                                               .bytes_received = 16}));
}

TEST(CallWords, OfAOneSidedOperationWithBytesBothWays) {
  const std::vector<Decoded> calls = decoded({kWord0, 0x00'18'0000'00000005, 0x00000001'00000003,
                                              0x00000007'00000010, 0x99999999'00000008});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls[0].facts, ElementsAre(Fact{.kind = FactKind::kCompareAndSwap,
                                               .comm = 0,
                                               .request = 7,
                                               .peer = 3,
                                               .tag = window_field(1),
                                               .bytes = 16,
                                               .bytes_received = 8}));
}

TEST(CallWords, OfASynchronisation) {
  const std::vector<Decoded> calls = decoded(
      {kWord0, 0x00'20'0000'00000005, 0x00000002'FFFFFFFF, 0x00000003'00000010});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls[0].facts, ElementsAre(Fact{.kind = FactKind::kFence,
                                               .comm = 0,
                                               .sequence = 3,
                                               .peer = kNoPeer,
                                               .tag = window_field(2),
                                               .bytes = rma::kNoSucceed}));
}

TEST(CallWords, OfALongCall) {
  std::vector<Word> words = {kWord0, 0x08'00'0000'FFFFFFFF};
  for (const Word word : encoded({.kind = FactKind::kDuration, .bytes = 0x1'0000'0005}))
    words.push_back(word);
  const std::vector<Decoded> calls = decoded(words);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.leave_ns, 1100u + 0x1'0000'0005);
  EXPECT_TRUE(calls[0].facts.empty()) << "the duration is the call's, no fact of its own";
}

TEST(CallWords, WithALargeCommunicatorTakeItFromTheFact) {
  std::vector<Word> words = {kWord0, 0x08'00'FFFF'00000005};
  for (const Word word :
       encoded({.kind = FactKind::kSend, .comm = 70'000, .peer = 1, .tag = 2, .bytes = 3})) {
    words.push_back(word);
  }
  const std::vector<Decoded> calls = decoded(words);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.comm, 70'000u);
}

TEST(Decoder, TakesANewTimeBaseForWhatFollows) {
  const std::vector<Decoded> calls = decoded({kWord0, 0, 0xFFE3, 50'000, kWord0, 0});
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].call.enter_ns, 1100u);
  EXPECT_EQ(calls[1].call.enter_ns, 50'100u);
}

TEST(Decoder, CarriesFactsOverTheEndOfAChunk) {
  encoding::CallDecoder decoder;
  const std::vector<Decoded> calls = decoded(
      decoder,
      {{kWord0, 0x08'00'0000'00000005}, {0x00000001'0005'FFE0, 0x00000002'0005'FFE0, kWord0, 0}});
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_THAT(calls[0].facts, ElementsAre(Fact{.kind = FactKind::kSendComplete, .request = 1},
                                          Fact{.kind = FactKind::kSendComplete, .request = 2}));
  EXPECT_TRUE(calls[1].facts.empty());
}

TEST(Decoder, CompletesAReceiveFromItsStart) {
  encoding::CallDecoder decoder;
  const std::vector<Decoded> calls = decoded(
      decoder,
      {{kWord0, 0x00'0A'0001'00000005, 0x00000003'00000002,
        0x00000010'00000008,  // a collective: no request
        kWord0, 0x00'04'0001'00000005, 0x0000002A'00000001,
        0x00000009'00000028,                                     // receive posted as request 9
        kWord0, 0x08'00'0000'00000005, 0x00000009'0006'FFE0}});  // request 9 complete, as posted
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_THAT(calls[2].facts, ElementsAre(Fact{.kind = FactKind::kRecvComplete,
                                               .comm = 1,
                                               .request = 9,
                                               .peer = 1,
                                               .tag = 42,
                                               .bytes = 40}));
  EXPECT_EQ(decoder.unknown_request_count(), 0u);
}

TEST(Decoder, SpreadsARunOfRequests) {
  encoding::CallDecoder decoder;
  constexpr Word kFlags = Word{encoding::kHasFacts} << 56;
  // Sends 0x20, 0x21 and 0x22 are complete.
  const auto calls = decoded(decoder, {{kWord0, kFlags | 9, 0x0000'0020'0205'FFE0}});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_THAT(calls[0].facts, ElementsAre(Fact{.kind = FactKind::kSendComplete, .request = 0x20},
                                          Fact{.kind = FactKind::kSendComplete, .request = 0x21},
                                          Fact{.kind = FactKind::kSendComplete, .request = 0x22}));
}

TEST(ShortFact, IsContinuedByTheNextRequestOfTheSameKind) {
  const Word one = encoding::short_fact(FactKind::kSendComplete, 7);
  EXPECT_TRUE(encoding::continues(one, FactKind::kSendComplete, 8));
  EXPECT_FALSE(encoding::continues(one, FactKind::kSendComplete, 7));
  EXPECT_FALSE(encoding::continues(one, FactKind::kRecvComplete, 8));
  const Word longest = one | Word{encoding::kMaxShortRun} << 24;
  EXPECT_FALSE(encoding::continues(longest, FactKind::kSendComplete, 7 + 256));
}

TEST(Decoder, CountsACompletionWithoutAStart) {
  encoding::CallDecoder decoder;
  const std::vector<Decoded> calls = decoded(
      decoder, {{kWord0, 0x08'00'0000'00000005, 0x00000009'0006'FFE0}});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(calls[0].facts.empty());
  EXPECT_EQ(decoder.unknown_request_count(), 1u);
}

TEST(Decoder, EndsAChunkAtTheFirstWordThatIsNoRecord) {
  for (const Word bad : {Word{0}, Word{0xFFE9}, Word{0xFF00}, Word{0x00FF'FFE1}}) {
    encoding::CallDecoder decoder;
    const std::vector<Decoded> calls = decoded(decoder,
                                               {{kWord0, 0, bad, 1, 2, 3, 4, 5}, {kWord0, 0}});
    EXPECT_EQ(calls.size(), 2u) << std::hex << bad;
    EXPECT_EQ(decoder.damaged_count(), 1u) << std::hex << bad;
  }
}

}  // namespace
}  // namespace megascope::trace
