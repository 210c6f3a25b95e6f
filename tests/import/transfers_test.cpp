#include "analysis/import/chrome_timeline.h"
#include "analysis/import/mend.h"
#include "analysis/import/timeline_run.h"
#include "analysis/match/match.h"

#include <gmock/gmock.h>

#include <memory>
#include <sstream>
#include <tuple>

/// Both ends of a message of another tool's timeline, as the analysis of transfers gets them.
namespace megascope::importer {
namespace {

using testing::UnorderedElementsAre;

/// Begin and end of the send, begin and end of the receive, sender and receiver.
using Transfer = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                            std::int32_t, std::int32_t>;

class Transfers final : public analysis::MatchSink {
 public:
  void begin(std::size_t) override {}
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override {
    EXPECT_EQ(send.start_ns, send.enter_ns);
    EXPECT_EQ(receive.start_ns, receive.enter_ns);
    all.emplace_back(send.start_ns, send.leave_ns, receive.start_ns, receive.leave_ns,
                     send.world_rank, receive.world_rank);
  }
  void add_collective(std::size_t, const analysis::Collective&) override {}
  void end_window() override {}

  std::vector<Transfer> all;
};

std::string operation(const char* name, int stage, int begin_us, const char* length_us,
                      int sequence) {
  return R"({"ph":"X","name":")" + std::string(name) + R"(","pid":)" + std::to_string(stage) +
         R"(,"tid":"pp_rank )" + std::to_string(stage) + R"(","ts":)" + std::to_string(begin_us) +
         length_us + R"(,"args":{"step":1,"seq_id":)" + std::to_string(sequence) + "}}";
}
std::string name_of_stage(int stage) {
  return R"({"ph":"M","name":"process_name","pid":)" + std::to_string(stage) +
         R"(,"args":{"name":"dp 0 pp )" + std::to_string(stage) + R"("}})";
}

TEST(Transfers, OfMatchedMessagesBothEndsHaveBeginAndEndAlsoWhereOneWasRepaired) {
  std::istringstream from("[" + name_of_stage(0) + "," + name_of_stage(1) + "," +
                          operation("forward-send", 0, 100, R"(,"dur":30)", 0) + "," +
                          operation("forward-recv", 1, 40, R"(,"dur":95)", 0) + "," +
                          operation("forward-send", 0, 200, R"(,"dur":-20)", 1) + "," +
                          operation("forward-send", 0, 300, R"(,"dur":10)", 2) + "," +
                          operation("forward-recv", 1, 210, R"(,"dur":15)", 1) + "," +
                          operation("forward-recv", 1, 295, R"(,"dur":18)", 2) + "]");
  Timeline timeline;
  ASSERT_TRUE(read_chrome(from, timeline).is_ok());
  mend(timeline);
  ParallelGrid grid;
  OperationTable table;
  std::unique_ptr<TimelineRun> run;
  ASSERT_TRUE(ParallelGrid::around(timeline, grid).is_ok());
  ASSERT_TRUE(OperationTable::parse(OperationTable::shipped(), table).is_ok());
  ASSERT_TRUE(TimelineRun::make(std::move(timeline), grid, table, run).is_ok());
  const analysis::MatchTables tables(*run);
  Transfers transfers;
  const analysis::Matching matching = analysis::match_run(*run, tables, transfers, 1);
  EXPECT_EQ(matching.unmatched(), 0u);
  // ns from the first event, which begins at 40 µs.
  EXPECT_THAT(transfers.all,
              UnorderedElementsAre(Transfer(60'000, 90'000, 0, 95'000, 0, 1),
                                   Transfer(160'000, 180'000, 170'000, 185'000, 0, 1),
                                   Transfer(260'000, 270'000, 255'000, 273'000, 0, 1)));
}

}  // namespace
}  // namespace megascope::importer
