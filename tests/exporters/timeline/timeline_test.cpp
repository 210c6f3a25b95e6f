#include "exporters/common/timeline.h"

#include "tests/support/sample_process.h"

#include <gmock/gmock.h>

namespace megascope::test {
namespace {

using ::testing::ElementsAre;
using timeline::Event;

/// "100 > Name" for entering, "200 <" for leaving, each with "@location" unless it is 0.
std::vector<std::string> events_of(const SampleProcess& process) {
  const MemorySource source = make_source(4, {process});
  const std::int32_t rank = source.world_ranks().front();
  const MessageOrder order = MessageOrder::of(source, rank);
  timeline::Timeline timeline(source, rank, order);
  std::vector<std::string> texts;
  Event event;
  while (timeline.next(event)) {
    std::string text = std::to_string(event.time_ns);
    if (event.kind == Event::Kind::kEnter) {
      text += " > " + source.process(rank).region(event.call->region)->name.substr(4);
    } else {
      text += " <";
    }
    if (event.location != 0) text += " @" + std::to_string(event.location);
    texts.push_back(text);
  }
  return texts;
}

TEST(Timeline, EntersAndLeavesInTheOrderOfTime) {
  SampleProcess process(0, 4);
  process.call("MPI_Send", 100, 150);
  process.call("MPI_Recv", 150, 200);
  EXPECT_THAT(events_of(process), ElementsAre("100 > Send", "150 <", "150 > Recv", "200 <"));
}

TEST(Timeline, LeavesInnerCallsFirst) {
  SampleProcess process(0, 4);
  process.call("MPI_Comm_dup", 100, 200);
  process.call("MPI_Comm_rank", 110, 120, {}, 0, 1);
  process.call("MPI_Comm_size", 130, 200, {}, 0, 1);
  process.call("MPI_Send", 300, 310);
  EXPECT_THAT(events_of(process),
              ElementsAre("100 > Comm_dup", "110 > Comm_rank", "120 <", "130 > Comm_size", "200 <",
                          "200 <", "300 > Send", "310 <"));
}

TEST(Timeline, MergesThreads) {
  SampleProcess process(0, 4);
  const LocationId thread = process.add_thread("thread 1");
  process.call("MPI_Send", 100, 300);
  process.call("MPI_Recv", 150, 200, {}, thread);
  process.call("MPI_Recv", 200, 400, {}, thread);
  EXPECT_THAT(events_of(process), ElementsAre("100 > Send", "150 > Recv @1", "200 < @1",
                                              "200 > Recv @1", "300 <", "400 < @1"));
}

TEST(Timeline, MendsTimesThatCannotBe) {
  SampleProcess process(0, 4);
  process.call("MPI_Comm_dup", 100, 200);
  process.call("MPI_Comm_rank", 90, 250, {}, 0,
               1);                     // begins before and ends after what encloses it
  process.call("MPI_Send", 150, 140);  // begins before the last one ended, ends before it begins
  process.call("MPI_Comm_size", 300, 310, {}, 0, 1);  // what enclosed it is not there any more
  EXPECT_THAT(events_of(process), ElementsAre("100 > Comm_dup", "100 > Comm_rank", "200 <", "200 <",
                                              "200 > Send", "200 <", "300 > Comm_size", "310 <"));
}

TEST(Timeline, HandsOutTheNamesOfACallsMessages) {
  SampleProcess process(0, 4);
  process.call("MPI_Irecv", 100, 101, {recv_request(1, 1, 7, 8)});
  process.call("MPI_Sendrecv", 110, 120, {send(1, 1, 8), recv(1, 2, 8)});
  process.call("MPI_Wait", 130, 140, {recv_complete(1, 1, 7, 8)});
  const MemorySource source = make_source(4, {process});
  const MessageOrder order = MessageOrder::of(source, 0);
  const auto ids = order.flow_ids(0);
  ASSERT_EQ(ids.size(), 3U);
  timeline::Timeline timeline(source, 0, order);
  std::vector<std::uint64_t> first_ids;
  for (Event event; timeline.next(event);) {
    if (event.kind == Event::Kind::kEnter) first_ids.push_back(event.flow_ids.front());
  }
  EXPECT_THAT(first_ids, ElementsAre(ids[0], ids[0], ids[2]));
}

}  // namespace
}  // namespace megascope::test
