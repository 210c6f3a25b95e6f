#include "core/profile/profile.h"

#include <gmock/gmock.h>

namespace megascope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr RegionId kSendRegion = 1;
constexpr RegionId kRecvRegion = 2;
constexpr RegionId kWaitallRegion = 3;
constexpr RegionId kAllreduceRegion = 4;
constexpr RegionId kUserRegion = 9;
constexpr CommId kWorld = 0;
constexpr CommId kOdd = 1;    // world ranks 1, 3, 5, 7
constexpr CommId kInter = 2;  // remote group: world ranks 4, 2

CommDefinition comm_definition(CommId id, CommKind kind, std::vector<RankRun> members) {
  CommDefinition comm;
  comm.id = id;
  comm.kind = kind;
  (kind == CommKind::kInter ? comm.remote_members : comm.members) = std::move(members);
  return comm;
}

/// World rank 1 of 8.
Profile make_profile() {
  ProcessDefinitions definitions;
  definitions.info.world_rank = 1;
  definitions.regions.resize(2);
  definitions.regions[0].id = kSendRegion;
  definitions.regions[1].id = kUserRegion;
  definitions.regions[1].paradigm = Paradigm::kUser;
  definitions.comms = {comm_definition(kWorld, CommKind::kWorld, {{0, 1, 8}}),
                       comm_definition(kOdd, CommKind::kIntra, {{1, 2, 4}}),
                       comm_definition(kInter, CommKind::kInter, {{4, 1, 1}, {2, 1, 1}})};
  Profile profile;
  profile.define(definitions);
  return profile;
}

Fact message(FactKind kind, CommId comm, std::int32_t peer, std::uint64_t bytes) {
  return {.kind = kind, .comm = comm, .peer = peer, .tag = 7, .bytes = bytes};
}

void add(Profile& profile, RegionId region, CommId comm, std::uint64_t enter, std::uint64_t leave,
         const std::vector<Fact>& facts) {
  profile.add(
      {.enter_ns = enter, .leave_ns = leave, .region = region, .comm = comm, .facts = facts});
}

TEST(Profile, SumsCallsOfOneKindInOneRow) {
  Profile profile = make_profile();
  add(profile, kSendRegion, kWorld, 100, 130, {message(FactKind::kSend, kWorld, 3, 40)});
  add(profile, kSendRegion, kWorld, 200, 250, {message(FactKind::kSend, kWorld, 5, 33)});
  EXPECT_THAT(profile.rows(),
              ElementsAre(ProfileRow{{kSendRegion, kWorld, /*32–63 bytes*/ 6, PeerClass::kOther},
                                     {2, 80, 50, 73, 0}}));
  EXPECT_THAT(profile.peers(), ElementsAre(PeerTotals{3, 1, 40}, PeerTotals{5, 1, 33}));
  EXPECT_EQ(profile.message_sizes()[6], (SizeTotals{2, 73}));
  EXPECT_EQ(profile.first_enter(), 100u);
  EXPECT_EQ(profile.last_leave(), 250u);
}

TEST(Profile, CountsReceivedBytesInTheCallThatCompletesThem) {
  Profile profile = make_profile();
  add(profile, kRecvRegion, kWorld, 0, 10,
      {message(FactKind::kRecvRequest, kWorld, kAnySource, 4096)});
  add(profile, kWaitallRegion, kNoComm, 10, 20,
      {message(FactKind::kRecvComplete, kWorld, 2, 100),
       message(FactKind::kRecvComplete, kWorld, 1, 20),
       {.kind = FactKind::kSendComplete, .request = 4}});
  EXPECT_THAT(
      profile.rows(),
      ElementsAre(ProfileRow{{kRecvRegion, kWorld, 0, PeerClass::kAny}, {1, 10, 10, 0, 0}},
                  ProfileRow{{kWaitallRegion, kWorld, 7, PeerClass::kOther}, {1, 10, 10, 0, 120}}));
  EXPECT_THAT(profile.peers(), IsEmpty());
}

TEST(Profile, CountsOneSidedBytesBothWaysButNoMessages) {
  Profile profile = make_profile();
  add(profile, kSendRegion, kOdd, 0, 10,
      {{.kind = FactKind::kPut, .comm = kOdd, .request = 1, .peer = 1, .bytes = 40}});
  add(profile, kSendRegion, kOdd, 10, 20,
      {{.kind = FactKind::kRgetAccumulate,
        .comm = kOdd,
        .request = 2,
        .peer = 2,
        .bytes = 20,
        .bytes_received = 30}});
  add(profile, kRecvRegion, kOdd, 20, 30,
      {{.kind = FactKind::kGet, .comm = kOdd, .request = 3, .peer = 0, .bytes_received = 8}});
  add(profile, kWaitallRegion, kOdd, 30, 40,
      {{.kind = FactKind::kFence, .comm = kOdd, .sequence = 1, .bytes = rma::kNoSucceed}});
  EXPECT_THAT(
      profile.rows(),
      ElementsAre(ProfileRow{{kSendRegion, kOdd, 6, PeerClass::kOther}, {2, 20, 10, 60, 30}},
                  ProfileRow{{kRecvRegion, kOdd, 4, PeerClass::kSelf}, {1, 10, 10, 0, 8}},
                  ProfileRow{{kWaitallRegion, kOdd, 0, PeerClass::kNone}, {1, 10, 10, 0, 0}}));
  EXPECT_THAT(profile.peers(), IsEmpty());
  EXPECT_EQ(profile.message_sizes()[6], SizeTotals{});
}

TEST(Profile, CountsACollectiveOnceThoughItsCompletionRepeatsIt) {
  Profile profile = make_profile();
  const Fact start{.kind = FactKind::kCollectiveRequest,
                   .comm = kOdd,
                   .request = 1,
                   .bytes = 24,
                   .bytes_received = 8};
  Fact complete = start;
  complete.kind = FactKind::kCollectiveComplete;
  add(profile, kAllreduceRegion, kOdd, 0, 4, {start});
  add(profile, kWaitallRegion, kNoComm, 4, 9, {complete});
  EXPECT_THAT(
      profile.rows(),
      ElementsAre(ProfileRow{{kWaitallRegion, kOdd, 0, PeerClass::kNone}, {1, 5, 5, 0, 0}},
                  ProfileRow{{kAllreduceRegion, kOdd, 6, PeerClass::kNone}, {1, 4, 4, 24, 8}}));
}

TEST(Profile, TranslatesPeersToWorldRanks) {
  Profile profile = make_profile();
  add(profile, kSendRegion, kOdd, 0, 1, {message(FactKind::kSend, kOdd, 3, 1)});  // world rank 7
  add(profile, kSendRegion, kOdd, 1, 2, {message(FactKind::kSend, kOdd, 0, 1)});  // itself
  add(profile, kSendRegion, kInter, 2, 3,
      {message(FactKind::kSend, kInter, 1, 1)});                                  // world rank 2
  add(profile, kSendRegion, kOdd, 3, 4, {message(FactKind::kSend, kOdd, 4, 1)});  // no such rank
  add(profile, kSendRegion, 17, 4, 5, {message(FactKind::kSend, 17, 0, 1)});      // not defined
  EXPECT_THAT(profile.peers(), ElementsAre(PeerTotals{kNoPeer, 2, 2}, PeerTotals{1, 1, 1},
                                           PeerTotals{2, 1, 1}, PeerTotals{7, 1, 1}));
  EXPECT_EQ(profile.rows()[0].key.peer, PeerClass::kSelf);
}

TEST(Profile, CountsTimeOfNestedCallsOnceAndOfPendingCallsWithoutACall) {
  Profile profile = make_profile();
  profile.add(
      {.enter_ns = 0, .leave_ns = 100, .region = kAllreduceRegion, .comm = kWorld, .facts = {}});
  profile.add({.enter_ns = 20,
               .leave_ns = 60,
               .region = kSendRegion,
               .comm = kWorld,
               .depth = 1,
               .facts = {}});
  profile.add({.enter_ns = 100,
               .leave_ns = 150,
               .region = kRecvRegion,
               .comm = kWorld,
               .is_pending = true,
               .facts = {}});
  EXPECT_EQ(profile.totals(), (CallTotals{.calls = 2, .time = 150, .max_time = 100}));
}

TEST(Profile, LeavesOutRegionsThatAreNotMpi) {
  Profile profile = make_profile();
  profile.add({.enter_ns = 0, .leave_ns = 100, .region = kUserRegion, .facts = {}});
  EXPECT_TRUE(profile.is_empty());
}

TEST(Profile, KeepsItsSizeWhenThereAreMoreKeysThanItHolds) {
  Profile profile = make_profile();
  for (CommId comm = 0; comm < kMaxProfileKeys + 100; ++comm)
    add(profile, kAllreduceRegion, comm, comm, comm + 2, {});
  for (CommId comm = 0; comm < 50; ++comm)
    add(profile, kSendRegion, 70000 + comm, comm, comm + 3, {});
  ASSERT_EQ(profile.rows().size(), kMaxProfileKeys + 2);
  EXPECT_EQ(profile.mixed_call_count(), 150u);
  EXPECT_EQ(
      profile.rows()[0],
      (ProfileRow{{kSendRegion, kMixedComms, kMixedSizes, PeerClass::kNone}, {50, 150, 3, 0, 0}}));
  EXPECT_EQ(profile.rows().back(),
            (ProfileRow{{kAllreduceRegion, kMixedComms, kMixedSizes, PeerClass::kNone},
                        {100, 200, 2, 0, 0}}));
  EXPECT_EQ(profile.totals().calls, kMaxProfileKeys + 150);
}

TEST(Profile, PutsDestinationsBeyondTheBoundInOneRow) {
  Profile profile;
  profile.define(comm_definition(kWorld, CommKind::kWorld, {{0, 1, 10000}}));
  for (std::int32_t rank = 0; rank < 5000; ++rank) {
    add(profile, kSendRegion, kWorld, 0, 1, {message(FactKind::kSend, kWorld, rank, 2)});
  }
  const std::vector<PeerTotals> peers = profile.peers();
  ASSERT_EQ(peers.size(), kMaxProfilePeers + 1);
  EXPECT_EQ(peers[0],
            (PeerTotals{kNoPeer, 5000 - kMaxProfilePeers, 2 * (5000 - kMaxProfilePeers)}));
}

void expect_equal(const Profile& a, const Profile& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.peers(), b.peers());
  EXPECT_EQ(a.message_sizes(), b.message_sizes());
  EXPECT_EQ(a.first_enter(), b.first_enter());
  EXPECT_EQ(a.last_leave(), b.last_leave());
  EXPECT_EQ(a.mixed_call_count(), b.mixed_call_count());
}

TEST(Profile, MergesTwoHalvesToTheWhole) {
  Profile whole = make_profile();
  Profile halves[2] = {make_profile(), make_profile()};
  for (std::uint64_t i = 0; i < 600; ++i) {
    const std::vector<Fact> facts = {
        message(FactKind::kSend, kWorld, static_cast<std::int32_t>(i % 8), i * i)};
    for (Profile* profile : {&whole, &halves[i < 200 ? 0 : 1]})
      add(*profile, kSendRegion, kWorld, 1000 + i, 1002 + 2 * i, facts);
  }
  halves[0].merge(halves[1]);
  expect_equal(halves[0], whole);
}

TEST(Profile, SurvivesSerializationAlsoWhenFull) {
  Profile profile = make_profile();
  for (CommId comm = 0; comm < 6000; ++comm) {
    const auto region = static_cast<RegionId>(1 + comm % 40);
    add(profile, region, comm, 10 + comm, 20 + comm, {message(FactKind::kSend, kWorld, 5, comm)});
  }
  std::vector<std::byte> bytes;
  profile.serialize(bytes);
  Profile read;
  ASSERT_TRUE(read.parse(bytes).is_ok());
  expect_equal(read, profile);

  std::vector<std::byte> empty_bytes;
  Profile().serialize(empty_bytes);
  ASSERT_TRUE(read.parse(empty_bytes).is_ok());
  expect_equal(read, Profile());
}

TEST(Profile, RefusesBytesThatAreCutOrFollowedByMore) {
  Profile profile = make_profile();
  add(profile, kSendRegion, kWorld, 100, 130, {message(FactKind::kSend, kWorld, 3, 40)});
  std::vector<std::byte> bytes;
  profile.serialize(bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Profile().parse(std::span(bytes).first(size)).is_ok()) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_EQ(Profile().parse(bytes).message(), "profile: damaged");
}

Fact collective(CommId comm, std::uint32_t sequence, std::int32_t root) {
  return {.kind = FactKind::kCollective, .comm = comm, .sequence = sequence, .peer = root};
}

CollectiveSum sum_of(CommId comm, const std::vector<std::pair<RegionId, Fact>>& calls) {
  Profile profile = make_profile();
  for (const auto& [region, fact] : calls) add(profile, region, comm, 0, 1, {fact});
  return profile.collectives().on(comm);
}

TEST(Profile, SumsOfCollectivesAreEqualForEqualCollectivesOnly) {
  constexpr RegionId kBcastRegion = 5;
  const CollectiveSum one = sum_of(kWorld, {{kAllreduceRegion, collective(kWorld, 0, kNoPeer)},
                                            {kBcastRegion, collective(kWorld, 1, 3)}});
  EXPECT_EQ(one.count, 2u);
  EXPECT_EQ(one.reached, 2u);
  EXPECT_EQ(sum_of(kWorld, {{kAllreduceRegion, collective(kWorld, 4, kNoPeer)}}).reached, 5u)
      << "four were not recorded";
  EXPECT_EQ(one, sum_of(kWorld, {{kBcastRegion, collective(kWorld, 1, 3)},
                                 {kAllreduceRegion, collective(kWorld, 0, kNoPeer)}}))
      << "threads are summed one after the other";
  EXPECT_NE(one, sum_of(kWorld, {{kBcastRegion, collective(kWorld, 0, 3)},
                                 {kAllreduceRegion, collective(kWorld, 1, kNoPeer)}}));
  EXPECT_NE(one, sum_of(kWorld, {{kAllreduceRegion, collective(kWorld, 0, kNoPeer)},
                                 {kBcastRegion, collective(kWorld, 1, 2)}}));
  EXPECT_EQ(sum_of(kInter, {{kBcastRegion, collective(kInter, 0, kSelfRoot)}}),
            sum_of(kInter, {{kBcastRegion, collective(kInter, 0, 2)}}))
      << "the two groups name a root differently";
}

TEST(Profile, SumsOfCollectivesTravelAndMerge) {
  Profile profile = make_profile();
  add(profile, kAllreduceRegion, kWorld, 0, 1, {collective(kWorld, 0, kNoPeer)});
  std::vector<std::byte> bytes;
  profile.serialize(bytes);
  Profile read = make_profile();
  ASSERT_TRUE(read.parse(bytes).is_ok());
  EXPECT_EQ(read.collectives().on(kWorld), profile.collectives().on(kWorld));
  profile.merge(read);
  EXPECT_EQ(profile.collectives().on(kWorld).count, 2u);
}

}  // namespace
}  // namespace megascope
