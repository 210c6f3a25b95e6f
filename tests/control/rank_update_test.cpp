#include "plugin/capture/rank_update.h"

#include "plugin/capture/capture_request.h"
#include "plugin/steps/step_block.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

namespace megascope::capture {
namespace {

using Item = RankUpdateReader::Item;

ViewPart some_part() {
  ViewPart part;
  part.capture_request = 3;
  part.key = 77;
  part.step = 12;
  part.micro_batch = 1;
  part.parts = 2;
  part.columns = 3;
  part.realtime_ns = 123;
  part.full_shape = {5, 10};
  part.whole_shape = {5, 4};
  part.shape = {5, 2};
  part.split_dimension = 1;
  part.tile_width = 3;
  part.tile_extent = 10;
  part.stretches = {{0, 1, 2}};
  part.elements.assign(30, 0.5F);
  return part;
}

TEST(RankUpdate, ComesBackAsItWasWritten) {
  RankUpdateWriter writer;
  writer.add(TensorName{.key = 5,
                        .layer = 2,
                        .kind = TensorKind::kWeight,
                        .type = ElementType::kBfloat16,
                        .name = "layers.2.w",
                        .shape = {3, 4}});
  writer.add(CounterName{.id = 9, .name = "loss", .unit = "nat"});
  writer.add(CounterReadings{.step = 4, .ids = {9, 10, 11}, .values = {1.5, -2, 3}});
  writer.add(some_part());
  writer.add(Notice{.capture_request = 8, .text = "no such tensor"});
  writer.add(RankFacts{.pid = 1234, .host = "node7", .place = "dp 0, tp 1"});
  writer.add(RequestFailed{"no step comes any more"});
  EXPECT_TRUE(writer.add(Reply{std::string(kMaxReplyBytes, 'r')}));
  EXPECT_FALSE(writer.add(Reply{std::string(kMaxReplyBytes + 1, 'r')}))
      << "half of it would be no JSON";
  writer.add(RequestFailed{"no client is there"});
  writer.add(LeftOut{12});
  writer.add(CallSums{.index = 7,
                      .elapsed_ms = 3500.5,
                      .names = "MPI_Send\nMPI_Barrier\n",
                      .functions = {{.calls = 3, .time_ms = 1.5, .bytes_sent = 24}, {.calls = 1}},
                      .peers = {{.world_rank = 2, .messages = 3, .bytes = 24}}});
  const std::vector<std::byte> rank_update = writer.take();
  EXPECT_TRUE(writer.is_empty());
  RankUpdateReader reader(rank_update);
  ASSERT_EQ(reader.next(), Item::kTensorName);
  EXPECT_EQ(reader.tensor_name.name, "layers.2.w");
  EXPECT_EQ(reader.tensor_name.type, ElementType::kBfloat16);
  EXPECT_EQ(reader.tensor_name.shape, (std::vector<std::uint64_t>{3, 4}));
  ASSERT_EQ(reader.next(), Item::kCounterName);
  EXPECT_EQ(reader.counter_name.unit, "nat");
  ASSERT_EQ(reader.next(), Item::kCounterReadings);
  EXPECT_EQ(reader.counter_readings.ids, (std::vector<std::uint32_t>{9, 10, 11}));
  EXPECT_EQ(reader.counter_readings.values[1], -2);
  ASSERT_EQ(reader.next(), Item::kViewPart);
  EXPECT_EQ(reader.view_part.elements.size(), 30U);
  EXPECT_EQ(reader.view_part.stretches[0].whole_start, 1U);
  EXPECT_EQ(reader.view_part.tile_extent, 10U);
  ASSERT_EQ(reader.next(), Item::kNotice);
  EXPECT_EQ(reader.notice.text, "no such tensor");
  ASSERT_EQ(reader.next(), Item::kRankFacts);
  EXPECT_EQ(reader.rank_facts.pid, 1234);
  EXPECT_EQ(reader.rank_facts.host + ": " + reader.rank_facts.place, "node7: dp 0, tp 1");
  ASSERT_EQ(reader.next(), Item::kRequestFailed);
  EXPECT_EQ(reader.request_failed.text, "no step comes any more");
  ASSERT_EQ(reader.next(), Item::kReply);
  EXPECT_EQ(reader.reply.text.size(), kMaxReplyBytes);
  ASSERT_EQ(reader.next(), Item::kRequestFailed);
  EXPECT_EQ(reader.request_failed.text, "no client is there");
  ASSERT_EQ(reader.next(), Item::kLeftOut);
  EXPECT_EQ(reader.left_out.parts, 12U);
  ASSERT_EQ(reader.next(), Item::kCallSums);
  EXPECT_EQ(reader.call_sums.names, "MPI_Send\nMPI_Barrier\n");
  EXPECT_EQ(reader.call_sums.elapsed_ms, 3500.5);
  ASSERT_EQ(reader.call_sums.functions.size(), 2U);
  EXPECT_EQ(reader.call_sums.functions[0].bytes_sent, 24U);
  ASSERT_EQ(reader.call_sums.peers.size(), 1U);
  EXPECT_EQ(reader.call_sums.peers[0].world_rank, 2);
  EXPECT_EQ(reader.next(), Item::kEnd);
}

TEST(RankUpdate, LeavesOutWhatDoesNotFit) {
  ViewPart part = some_part();
  part.shape = part.whole_shape = {1U << 20};
  part.split_dimension = -1;
  part.stretches.clear();
  part.columns = 1;
  part.elements.assign(1U << 20, 1.0F);
  RankUpdateWriter writer;
  EXPECT_TRUE(writer.add(part));
  EXPECT_LE(writer.size(), rank_update_bytes(part));
  EXPECT_FALSE(writer.add(part));
  EXPECT_TRUE(writer.add(Notice{.capture_request = 1, .text = "still fits"}));
  EXPECT_FALSE(RankUpdateWriter(1 << 20).add(writer));
  EXPECT_LE(writer.take().size(), kMaxRankUpdateBytes);
}

/// A part that says what cannot be would be written outside of the whole.
TEST(RankUpdate, RefusesPartsThatDoNotFitTheirWhole) {
  const std::vector<void (*)(ViewPart&)> faults{
      [](ViewPart& part) { part.stretches[0].whole_start = 3; },
      [](ViewPart& part) { part.stretches[0].start = ~std::uint64_t{0}; },
      [](ViewPart& part) { part.stretches[0].count = 3; },
      [](ViewPart& part) { part.split_dimension = 2; },
      [](ViewPart& part) { part.split_dimension = -1; },
      [](ViewPart& part) { part.whole_shape[0] = 6; },
      [](ViewPart& part) { part.columns = 2; },
      [](ViewPart& part) { part.elements.pop_back(); },
      [](ViewPart& part) {
        part.whole_shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
      },
      [](ViewPart& part) { part.parts = 0; },
  };
  for (const auto& fault : faults) {
    ViewPart part = some_part();
    fault(part);
    RankUpdateWriter writer;
    writer.add(part);
    const std::vector<std::byte> rank_update = writer.take();
    EXPECT_EQ(RankUpdateReader(rank_update).next(), Item::kDamaged);
  }
}

TEST(RankUpdate, SurvivesAnyBytes) {
  RankUpdateWriter writer;
  writer.add(some_part());
  writer.add(CounterReadings{.step = 4, .ids = {9, 10, 11}, .values = {1.5, -2, 3}});
  const std::vector<std::byte> whole = writer.take();
  std::mt19937 random(3);
  unsigned damaged = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::vector<std::byte> rank_update = whole;
    rank_update.resize(random() % (whole.size() + 1));
    for (unsigned flips = random() % 4; flips-- > 0 && !rank_update.empty();)
      rank_update[random() % rank_update.size()] = static_cast<std::byte>(random());
    RankUpdateReader reader(rank_update);
    Item item = Item::kEnd;
    while ((item = reader.next()) != Item::kEnd && item != Item::kDamaged) {
    }
    damaged += item == Item::kDamaged ? 1 : 0;
  }
  EXPECT_GT(damaged, 10'000U);
}

TEST(CaptureRequests, ComeBackAndWhatIsNoneIsLeftOut) {
  CaptureRequest capture_request;
  capture_request.id = 4;
  capture_request.kind = CaptureRequestKind::kTile;
  ASSERT_TRUE(set_pattern(capture_request, "layers.*.qkv"));
  set_method(capture_request, {kernels::TileReduction::kStd, true, false});
  CaptureRequest wrong = capture_request;
  wrong.tiles = 0;
  CaptureRequest nameless = capture_request;
  nameless.name.fill('\0');
  CaptureRequest unending = capture_request;
  unending.name.fill('x');
  const std::vector<CaptureRequest> back = unpack_capture_requests(
      pack_capture_requests(std::vector{capture_request, wrong, nameless, unending}));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].pattern(), "layers.*.qkv");
  EXPECT_EQ(back[0].method(), (kernels::TileMethod{kernels::TileReduction::kStd, true, false}));
  EXPECT_TRUE(unpack_capture_requests({}).empty());
  EXPECT_TRUE(unpack_capture_requests(std::vector<std::byte>(kMaxCaptureRequestBytes)).empty());
  EXPECT_FALSE(set_pattern(capture_request, std::string(kCaptureRequestNameBytes, 'a')));
  EXPECT_FALSE(set_pattern(capture_request, ""));
}

std::vector<std::byte> block_of(std::uint32_t rank, std::uint32_t ranks,
                                const std::vector<std::byte>& capture_requests) {
  steps::StepHeader header;
  header.slots = steps::kMinSlots;
  header.tail_ranks = ranks;
  header.word.is_announced = rank == 0 ? 1 : 0;
  std::vector<std::byte> block(steps::bytes_of_block(steps::kMinSlots, ranks), std::byte{0xFF});
  steps::write_block(header, {}, block);
  const std::span<std::byte> tail = steps::tail_of(std::span(block));
  steps::set_times(
      tail, rank,
      {.step_ms = static_cast<float>(rank), .mpi_ms = 1, .own_ms = 2, .is_announced = 1});
  if (rank == 0) steps::set_capture_requests(tail, ranks, capture_requests);
  return block;
}

/// In any order in which MPI merges.
TEST(LiveTail, HoldsWhatEachRankReportedAndRankZerosCaptureRequests) {
  CaptureRequest capture_request;
  set_pattern(capture_request, "w");
  const std::vector<std::byte> capture_requests = pack_capture_requests(
      std::vector{capture_request});
  constexpr std::uint32_t kRanks = 5;
  for (const std::vector<std::uint32_t>& order :
       {std::vector<std::uint32_t>{0, 1, 2, 4}, {4, 2, 1, 0}, {2, 0, 4, 1}}) {  // not 3
    std::vector<std::byte> all = block_of(order[0], kRanks, capture_requests);
    for (std::size_t i = 1; i < order.size(); ++i)
      steps::merge_blocks(block_of(order[i], kRanks, capture_requests).data(), all.data());
    const std::span<const std::byte> tail = steps::tail_of(std::span<const std::byte>(all));
    for (const std::uint32_t rank : order)
      EXPECT_EQ(steps::times_of(tail, rank).step_ms, static_cast<float>(rank));
    EXPECT_EQ(steps::times_of(tail, 3).is_announced, 0U);
    EXPECT_TRUE(steps::times_of(tail, 3).step_ms != steps::times_of(tail, 3).step_ms);
    ASSERT_EQ(unpack_capture_requests(steps::capture_requests_in(tail, kRanks)).size(), 1U);
  }
}

}  // namespace
}  // namespace megascope::capture
