#include "core/base/text_table.h"
#include "exporters/report/run_report.h"
#include "exporters/report/summary.h"
#include "tests/exporters/report/sample_runs.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

/// Calls by place, and procedures that could not be recorded.
namespace megascope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

enum Region : RegionId { kSend = 1, kBarrier };

CallSiteDefinition site(std::uint32_t id, std::uint64_t offset, std::string function = {},
                        std::uint32_t line = 0) {
  return {.id = id,
          .module = "/opt/heat",
          .offset = offset,
          .function = std::move(function),
          .file = line != 0 ? "/src/heat.c" : "",
          .line = line,
          .build_id = "abcd"};
}

ProcessDefinitions definitions(std::int32_t rank, std::vector<CallSiteDefinition> sites) {
  ProcessDefinitions all;
  all.info.world_rank = rank;
  all.info.world_size = 2;
  all.regions.resize(2);
  all.regions[0].id = kSend;
  all.regions[0].name = "MPI_Send";
  all.regions[1].id = kBarrier;
  all.regions[1].name = "MPI_Barrier";
  all.call_sites = std::move(sites);
  return all;
}

/// place: 1 + its number; 0: it tells none.
void add_call(Profile& profile, RegionId region, std::uint64_t enter, std::uint64_t ticks,
              std::uint32_t call_site) {
  const Fact fact{.kind = FactKind::kCallSite, .request = call_site};
  Call call;
  call.region = region;
  call.enter_ns = enter;
  call.leave_ns = enter + ticks;
  if (call_site != 0) call.facts = {&fact, 1};
  profile.add(call);
}

std::map<std::string, CallTotals> sums_of_call_sites(const RunReport& report) {
  std::map<std::string, CallTotals> sums;
  for (const CallSiteRow& row : report.call_sites) sums[row.function].add(row.totals);
  return sums;
}

TEST(CallSites, AddUpToTheirFunctionExactlyForAnyLengthOfATick) {
  for (const double tick_ns : {0.37, 0.5, 1.0, 1.7}) {
    Profile profile;
    for (std::uint64_t i = 0; i < 1000; ++i)
      add_call(profile, kSend, i * 50, 7 + i % 13, static_cast<std::uint32_t>(i % 4));
    for (std::uint64_t i = 0; i < 10; ++i) add_call(profile, kBarrier, 50000 + i * 50, 3, 2);
    RankFacts facts;
    facts.ns_per_profile_unit = tick_ns;
    const RunReport report = summarize(definitions(0, {site(0, 16), site(1, 32), site(2, 48)}),
                                       profile, facts);
    const std::map<std::string, CallTotals> sums = sums_of_call_sites(report);
    for (const FunctionRow& row : report.functions) {
      EXPECT_EQ(sums.at(row.name).calls, row.totals.calls) << row.name;
      EXPECT_EQ(sums.at(row.name).time, row.totals.time) << row.name << " " << tick_ns;
    }
    EXPECT_EQ(report.call_sites.size(), 5u)
        << "three places and none of MPI_Send, one of MPI_Barrier";
  }
}

TEST(CallSites, OfRanksAreOneByModuleAndOffset) {
  Profile lower;
  Profile higher;
  add_call(lower, kSend, 0, 10, 1);
  add_call(higher, kSend, 0, 20, 2);  // the same place under another number
  add_call(higher, kSend, 50, 5, 1);
  RunReport report = summarize(definitions(0, {site(0, 16)}), lower, {});
  merge(report, summarize(definitions(1, {site(0, 32), site(1, 16, "solve", 42)}), higher, {}));
  ASSERT_EQ(report.call_sites.size(), 2u);
  EXPECT_EQ(report.call_sites[0].totals.calls, 2u);
  EXPECT_EQ(report.call_sites[0].totals.time, 30u);
  EXPECT_EQ(place_of(report.call_sites[0].site), "solve (heat.c:42)") << "one of the ranks knew";
  EXPECT_EQ(place_of(report.call_sites[1].site), "heat+0x20");
}

TEST(CallSites, BeyondTheBoundAreSummedUp) {
  constexpr std::uint32_t kCount = 3000;
  Profile profile;
  std::vector<CallSiteDefinition> sites;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    sites.push_back(site(i, 16 * (i + 1)));
    add_call(profile, kSend, i * 1000, 1 + i % 500, i + 1);
  }
  const RunReport report = summarize(definitions(0, sites), profile, {});
  EXPECT_EQ(report.call_sites.size(), kMaxCallSites);
  CallTotals sum;
  for (const CallSiteRow& row : report.call_sites) sum.add(row.totals);
  EXPECT_EQ(sum.calls, kCount);
  EXPECT_EQ(sum.time, report.functions[0].totals.time);
}

TEST(CallSites, TravelAndSurviveTheProfilesOwnForm) {
  Profile profile;
  add_call(profile, kSend, 0, 10, 1);
  add_call(profile, kBarrier, 50, 20, 2);
  std::vector<std::byte> bytes;
  profile.serialize(bytes);
  Profile read;
  ASSERT_TRUE(read.parse(bytes).is_ok());
  EXPECT_EQ(read.sites().rows(), profile.sites().rows());
  RunReport report = summarize(definitions(0, {site(0, 16, "solve", 42), site(1, 32)}), profile,
                               {});
  report.run.unrecorded = {"mpi_send_"};
  bytes.clear();
  serialize(report, bytes);
  RunReport arrived;
  ASSERT_TRUE(parse(bytes, arrived).is_ok());
  EXPECT_EQ(arrived, report);
}

TEST(CallSites, FitTheScreenAndKeepTheLineWhereTheyAreCut) {
  Profile profile;
  std::vector<CallSiteDefinition> sites;
  for (std::uint32_t i = 0; i < 60; ++i) {
    sites.push_back(site(i, 16 * (i + 1), std::string(90, 'f'), 1000 + i));
    add_call(profile, kSend, i * 1000, 10 + i, i + 1);
  }
  RunReport report = sample_report(9, 5);
  report.world_size = 10;
  ProcessDefinitions more = definitions(9, sites);
  more.info.world_size = 10;
  merge(report, summarize(more, profile, {}));
  const std::string text = to_text(report);
  std::istringstream in(text);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    EXPECT_LE(display_width(line), 100u) << line;
  EXPECT_LE(lines, 80);
  EXPECT_THAT(text, HasSubstr("ff (heat.c:1059)  "));
}

TEST(UnrecordedProcedures, AreNamedOnce) {
  Profile profile;
  add_call(profile, kSend, 0, 10, 0);
  ProcessDefinitions lower = definitions(0, {});
  ProcessDefinitions higher = definitions(1, {});
  lower.info.unrecorded = {"mpi_send_f08_"};
  higher.info.unrecorded = {"mpi_send_f08_", "mpi_wait_f08_"};
  RunReport report = summarize(lower, profile, {});
  merge(report, summarize(higher, profile, {}));
  EXPECT_THAT(report.run.unrecorded, ElementsAre("mpi_send_f08_", "mpi_wait_f08_"));
  EXPECT_THAT(to_text(report), HasSubstr("\nNot recorded    mpi_send_f08_, mpi_wait_f08_: the MPI "
                                         "library has no pmpi_ entry point"));
  EXPECT_THAT(to_json(report), HasSubstr("\"mpi_wait_f08_\""));
  EXPECT_THAT(to_text(sample_report(2, 5)), Not(HasSubstr("Not recorded")));
}

}  // namespace
}  // namespace megascope::report
