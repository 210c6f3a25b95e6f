#include "core/lifecycle/export_job.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

extern "C" const megascope::ModuleTable* megascope_module_calls_csv();

namespace megascope::test {
namespace {

std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Exports through the module's table.
Status export_to(const std::string& directory, int members, const std::vector<SampleProcess>& run,
                 ExportResult& result) {
  return export_by(megascope_module_calls_csv()->run_export, members, run, directory, result);
}

TEST(ExampleExporter, WritesALineForEachCallHoweverManyMembersWrite) {
  for (const int members : {1, 2}) {
    const TemporaryDirectory directory;
    ExportResult result;
    ASSERT_TRUE(export_to(directory.path(), members, send_and_receive(), result).is_ok());
    EXPECT_EQ(content(directory.path() + "/calls.csv"),
              "rank,thread,function,enter_ns,leave_ns\n"
              "0,0,\"MPI_Send\",100,150\n"
              "0,0,\"MPI_Barrier\",200,300\n"
              "1,0,\"MPI_Recv\",50,160\n"
              "1,0,\"MPI_Barrier\",170,290\n");
    EXPECT_EQ(result.path, "calls.csv");
    EXPECT_EQ(result.records, 4U);
    EXPECT_EQ(result.bytes, 136U);
  }
}

TEST(ExampleExporter, QuotesNamesOfTheApplication) {
  const TemporaryDirectory directory;
  SampleProcess process(0, 1);
  process.call("a \"b\",\xff", 1, 2);
  ExportResult result;
  ASSERT_TRUE(export_to(directory.path(), 1, {process}, result).is_ok());
  EXPECT_EQ(content(directory.path() + "/calls.csv"),
            "rank,thread,function,enter_ns,leave_ns\n0,0,\"a \"\"b\"\",\xef\xbf\xbd\",1,2\n");
}

TEST(ExampleExporter, OverwritesNothing) {
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_to(directory.path(), 1, send_and_receive(), result).is_ok());
  EXPECT_FALSE(export_to(directory.path(), 2, send_and_receive(), result).is_ok());
  EXPECT_EQ(directory.names().size(), 1U);
}

TEST(ExampleExporter, IsOfThisBuild) {
  EXPECT_STREQ(megascope_module_calls_csv()->build, kModuleBuild);
}

}  // namespace
}  // namespace megascope::test
