#include "plugin/run/conclusion.h"

#include "tests/support/thread_collective.h"

#include <gmock/gmock.h>

namespace megascope::run {
namespace {

using testing::ElementsAre;

constexpr int kRanks = 6;

ClockDomain clock_of_rank(int rank) {  // two ranks a node
  const std::uint64_t start = 1000 - static_cast<std::uint64_t>(rank);
  return {.id = 10 + static_cast<std::uint64_t>(rank / 2),
          .lowest_rank = rank,
          .start_ticks = start,
          .first = {1000, 0, 0},
          .last = {2000, 1000, 1000},
          .samples = {}};
}

/// Writes down what the steps were given.
class NotedPart final : public RunPart {
 public:
  NotedPart(int rank, std::vector<std::string> formats)
      : rank_(rank), formats_(std::move(formats)) {}

  std::string own_directory() override { return "directory of " + std::to_string(rank_); }
  void enter_directory(const std::string& directory) override {
    notes.push_back("enter " + directory);
  }
  report::RunReport report() override {
    report::RunReport report;
    report.nodes = {"node"};
    report.ranks.push_back({.world_rank = rank_});
    if (is_damaged) report.notes.assign(100'000, "a note");  // more than a reader takes
    return report;
  }
  std::vector<std::string> wanted_formats(const report::RunReport& report) override {
    notes.push_back("asked with " + std::to_string(report.ranks.size()));
    return formats_;
  }
  ClockDomain clock() override { return clock_of_rank(rank_); }
  void run_exports(Collective& group, const std::vector<std::string>& formats,
                   const std::vector<ClockDomain>& clocks, report::RunReport&) override {
    std::string note = "export";
    for (const std::string& format : formats) note += " " + format;
    for (const ClockDomain& clock : clocks)
      note += " " + std::to_string(clock.id) + ":" + std::to_string(clock.start_ticks);
    notes.push_back(note);
    const Status mine = rank_ == 3 || rank_ == 5
                            ? Status::error("no space on " + std::to_string(rank_))
                            : Status::ok();
    notes.push_back(agree(group, mine).message());
  }
  void close(Collective& group, const std::vector<ClockDomain>& clocks,
             report::RunReport& report) override {
    if (group.rank() == 0)
      notes.push_back("close with " + std::to_string(report.ranks.size()) + " and " +
                      std::to_string(clocks.size()));
  }

  std::vector<std::string> notes;
  bool is_damaged = false;

 private:
  int rank_;
  std::vector<std::string> formats_;
};

std::vector<std::vector<std::string>> notes_of_all(const std::vector<std::string>& formats_of_0) {
  std::vector<std::vector<std::string>> notes(kRanks);
  test::run_members(kRanks, [&](Collective& group) {
    NotedPart part(group.rank(),
                   group.rank() == 0 ? formats_of_0 : std::vector<std::string>{"of another rank"});
    EXPECT_TRUE(conclude(group, part).is_ok());
    notes[static_cast<std::size_t>(group.rank())] = part.notes;
  });
  return notes;
}

TEST(Conclusion, GivesAllRanksWhatRank0Wants) {
  const auto notes = notes_of_all({"otf2", "csv"});
  const std::string exported = "export otf2 csv 10:999 11:997 12:995";
  EXPECT_THAT(notes[0], ElementsAre("enter directory of 0", "asked with 6", exported,
                                    "no space on 3", "close with 6 and 3"));
  for (int rank = 1; rank < kRanks; ++rank) {
    const auto& mine = notes[static_cast<std::size_t>(rank)];
    ASSERT_EQ(mine.size(), 3u);
    EXPECT_EQ(mine[0], "enter directory of 0");
    EXPECT_EQ(mine[1], exported) << "one clock a domain, with the earliest start";
    EXPECT_EQ(mine[2], "no space on 3") << "the first error of all";
  }
}

TEST(Conclusion, ExportsNothingWhereNothingIsWanted) {
  const auto notes = notes_of_all({});
  EXPECT_THAT(notes[0], ElementsAre("enter directory of 0", "asked with 6", "close with 6 and 3"));
  for (int rank = 1; rank < kRanks; ++rank)
    EXPECT_EQ(notes[static_cast<std::size_t>(rank)].size(), 1u);
}

/// Ranks 4 and 5 meet on 4, which alone finds that 5's part cannot be read.
TEST(Conclusion, GoesOnWithOneRankThatCannotReadAnother) {
  std::vector<std::vector<std::string>> notes(kRanks);
  test::run_members(kRanks, [&](Collective& group) {
    NotedPart part(group.rank(), {"otf2"});
    part.is_damaged = group.rank() == 5;
    EXPECT_TRUE(conclude(group, part).is_ok());
    notes[static_cast<std::size_t>(group.rank())] = part.notes;
  });
  for (const auto& mine : notes) ASSERT_EQ(mine.front(), "enter directory of 0");
  EXPECT_THAT(notes[0], ElementsAre("enter directory of 0", "asked with 5",
                                    testing::StartsWith("export otf2"), testing::_, testing::_));
  for (std::size_t rank = 1; rank < kRanks; ++rank)
    EXPECT_EQ(notes[rank].size(), 3u) << "all together, or none";
}

}  // namespace
}  // namespace megascope::run
