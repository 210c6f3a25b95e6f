#include "core/encoding/call_decoder.h"
#include "core/profile/profile.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

/// Summing a chunk's words at once gives what summing its calls one by one gives, for any
/// words are.
namespace megascope::trace {
namespace {

using encoding::Word;

constexpr FactKind kFolded[] = {
    FactKind::kNone,        FactKind::kSend,           FactKind::kRecv,     FactKind::kSendRequest,
    FactKind::kRecvRequest, FactKind::kCollective,     FactKind::kSendrecv, FactKind::kPut,
    FactKind::kRget,        FactKind::kCompareAndSwap, FactKind::kFence,    FactKind::kWindow,
    FactKind::kWinCreated};
constexpr std::uint32_t kFactKindCount = 61;

class Stream {
 public:
  explicit Stream(unsigned seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_()) % limit; }

  std::vector<Word> words(int calls) {
    std::vector<Word> words;
    for (int i = 0; i < calls; ++i) {
      if (below(40) == 0) add_time_base(words);
      add_call(words);
      if (below(damage_) == 0) words.push_back(random_());
    }
    return words;
  }
  void damage_one_in(std::uint32_t calls) { damage_ = calls; }

 private:
  void add_time_base(std::vector<Word>& words) {
    words.push_back(encoding::kTimeBase);
    words.push_back(random_() >> 20);
  }
  void add_call(std::vector<Word>& words) {
    const FactKind kind = kFolded[below(std::size(kFolded))];
    const bool has_facts = below(3) == 0;
    const unsigned flags = (below(6) == 0 ? 1U : 0U) | (has_facts ? encoding::kHasFacts : 0U);
    const Word comm = below(20) == 0 ? encoding::kWideComm : below(3);
    words.push_back(
        encoding::entry_word(1000 * words.size(), 0, static_cast<RegionId>(1 + below(8))));
    words.push_back(Word{below(900)} | comm << 32 | Word{static_cast<std::uint8_t>(kind)} << 48 |
                    Word{flags} << 56);
    for (std::size_t at = encoding::kBareWords; at < encoding::call_words(kind); ++at) {
      words.push_back(encoding::pack(below(6), below(50)));
    }
    if (has_facts && below(2) == 0) {
      words.push_back(encoding::short_fact(FactKind::kCallSite, below(20)));
    } else if (has_facts) {
      for (std::uint32_t left = below(5); left > 0; --left) add_fact(words);
    }
  }
  void add_fact(std::vector<Word>& words) {
    Fact fact{.kind = static_cast<FactKind>(1 + below(kFactKindCount)), .request = below(50)};
    if (below(2) == 0) {
      fact.comm = below(3);
      fact.peer = static_cast<std::int32_t>(below(6));
      fact.bytes = below(5000);
      if (below(2) == 0) fact.bytes_received = below(5000);
    }
    Word to[encoding::kMaxFactWords];
    const std::size_t size = encoding::encode_fact(fact, to);
    if (size == encoding::kShortWords && below(3) == 0) to[0] |= Word{below(9)} << 24;  // a run
    words.insert(words.end(), to, to + size);
  }

  std::mt19937_64 random_;
  std::uint32_t damage_ = 0xFFFFFFFF;
};

Profile make_profile() {
  ProcessDefinitions definitions;
  definitions.info.world_rank = 1;
  definitions.regions.resize(1);
  definitions.regions[0].id = 5;
  definitions.regions[0].paradigm = Paradigm::kUser;
  definitions.comms.resize(2);
  definitions.comms[0].id = 0;
  definitions.comms[0].members = {{.first = 0, .stride = 1, .count = 4}};
  definitions.comms[1].id = 1;
  definitions.comms[1].members = {{.first = 1, .stride = 2, .count = 5}};
  Profile profile;
  profile.define(definitions);
  return profile;
}

std::vector<std::string> rows_of(const Profile& profile) {
  std::vector<std::string> rows;
  for (const ProfileRow& row : profile.rows()) {
    std::string text = "region " + std::to_string(row.key.region) + " comm " +
                       std::to_string(row.key.comm) + " size class " +
                       std::to_string(row.key.sizes) + " peer " +
                       std::to_string(static_cast<int>(row.key.peer));
    for (const std::uint64_t sum : {row.totals.calls, row.totals.time, row.totals.max_time,
                                    row.totals.bytes_sent, row.totals.bytes_received}) {
      text += " " + std::to_string(sum);
    }
    rows.push_back(text);
  }
  return rows;
}

std::vector<std::byte> bytes_of(const Profile& profile) {
  std::vector<std::byte> bytes;
  profile.serialize(bytes);
  return bytes;
}

void expect_same_sums(Stream& stream) {
  Profile at_once = make_profile();
  Profile one_by_one = make_profile();
  encoding::CallDecoder fast;
  encoding::CallDecoder slow;
  Call call;
  for (int chunk = 0; chunk < 4; ++chunk) {
    const std::vector<Word> words = stream.words(1 + static_cast<int>(stream.below(300)));
    fast.begin_chunk(words, 5);
    slow.begin_chunk(words, 5);
    std::uint64_t count = 0;
    for (; slow.next(call); count += call.count) one_by_one.add(call);
    ASSERT_EQ(fast.add_all_to(at_once), count);
  }
  if (slow.flush(call)) one_by_one.add(call);
  if (fast.flush(call)) at_once.add(call);
  EXPECT_EQ(rows_of(at_once), rows_of(one_by_one));
  EXPECT_EQ(at_once.peers(), one_by_one.peers());
  EXPECT_EQ(bytes_of(at_once), bytes_of(one_by_one));
  EXPECT_EQ(at_once.message_sizes(), one_by_one.message_sizes());
  EXPECT_EQ(at_once.first_enter(), one_by_one.first_enter());
  EXPECT_EQ(at_once.last_leave(), one_by_one.last_leave());
  EXPECT_EQ(fast.last_outer_word(), slow.last_outer_word());
  EXPECT_EQ(fast.damaged_count(), slow.damaged_count());
  EXPECT_EQ(fast.unknown_request_count(), slow.unknown_request_count());
}

TEST(CallDecoderAddAllTo, EqualsAddingEachCall) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Stream stream(seed);
    expect_same_sums(stream);
  }
}

TEST(CallDecoderAddAllTo, EqualsAddingEachCallOfDamagedWords) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Stream stream(seed);
    stream.damage_one_in(100);
    expect_same_sums(stream);
  }
}

}  // namespace
}  // namespace megascope::trace
