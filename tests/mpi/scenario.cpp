#include "tests/mpi/scenario.h"

#include "tests/faults/launch.h"
#include "tests/faults/process.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>

namespace megascope::mpitest {
namespace {

using faults::Child;
using faults::Command;
using faults::Ending;
using test::TemporaryDirectory;

constexpr int kTimeLimit_s = 90;

std::vector<const Scenario*>& all() {
  static std::vector<const Scenario*> scenarios;
  return scenarios;
}

std::vector<const Scenario*> on_ranks(int rank_count) {
  std::vector<const Scenario*> chosen;
  std::copy_if(
      all().begin(), all().end(), std::back_inserter(chosen), [&](const Scenario* scenario) {
        return std::count(scenario->rank_counts.begin(), scenario->rank_counts.end(), rank_count) !=
               0;
      });
  return chosen;
}

bool g_has_failed = false;
Who g_me;
const Scenario* g_current = nullptr;

/// The MPI program.
int play(int argc, char** argv, int thread_level) {
  int provided = MPI_THREAD_SINGLE;
  if (thread_level == MPI_THREAD_SINGLE)
    MPI_Init(&argc, &argv);
  else
    MPI_Init_thread(&argc, &argv, thread_level, &provided);
  if (provided != thread_level) {
    g_has_failed = true;
    std::cerr << "asked for thread level " << thread_level << ", got " << provided << '\n';
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &g_me.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_me.size);
  for (const Scenario* scenario : on_ranks(g_me.size)) {
    g_current = scenario;
    int level = 0;
    MPI_Query_thread(&level);
    scenario->body(g_me);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return g_has_failed ? 1 : 0;
}

/// The program under mpirun with the library, and what it recorded; once for a number of ranks.
const Recorded* record(int rank_count, std::size_t scenario) {
  static std::map<int, std::unique_ptr<Recorded>> runs;
  if (!runs.contains(rank_count)) {
    const TemporaryDirectory directory;
    const std::string scratch = directory / "scratch";
    std::filesystem::create_directory(scratch);
    Command command;
    command.arguments = faults::launcher();
    std::vector<std::string>& words = command.arguments;
    const std::vector<std::string> ranks = faults::ranks_with(rank_count, MEGASCOPE_TEST_LIBRARY);
    words.insert(words.end(), ranks.begin(), ranks.end());
    words.insert(words.end(), {std::filesystem::read_symlink("/proc/self/exe"), "--scenarios"});
    command.environment = faults::launch_environment(rank_count);
    command.environment.insert(
        command.environment.end(),
        {"MEGASCOPE_OUT=" + (directory / "run"), "MEGASCOPE_SCRATCH=" + scratch,
         "MEGASCOPE_EXPORT=none", "MEGASCOPE_REPORT=off"});
    command.directory = directory.path();
    const Ending ending = Child(command).wait(kTimeLimit_s);
    EXPECT_FALSE(ending.has_timed_out);
    EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
    runs[rank_count] = std::make_unique<Recorded>(directory / "run", rank_count,
                                                  on_ranks(rank_count).size());
  }
  Recorded* run = runs[rank_count].get();
  run->select(scenario);
  return run;
}

/// Of a call whose values are not looked at here the line without them.
std::string judged(const std::string& recorded, const std::string& expected) {
  return expected.find(" {") == std::string::npos ? without_values(recorded) : recorded;
}

void expect_lines(const Lines& recorded, const Lines& expected, int rank) {
  EXPECT_EQ(recorded.size(), expected.size()) << "calls of rank " << rank;
  const std::size_t count = std::max(recorded.size(), expected.size());
  int shown = 0;
  for (std::size_t i = 0; i < count && shown < 5; ++i) {
    const std::string should = i < expected.size() ? expected[i] : "no call";
    const std::string has = i < recorded.size() ? judged(recorded[i], should) : "no call";
    EXPECT_EQ(has, should) << "call " << i << " of rank " << rank;
    shown += has == should ? 0 : 1;
  }
}

class ScenarioTest : public testing::Test {
 public:
  ScenarioTest(int rank_count, std::size_t scenario)
      : rank_count_(rank_count), scenario_(scenario) {}
  void TestBody() override {
    const Recorded* run = record(rank_count_, scenario_);
    ASSERT_TRUE(run->is_readable());
    const Scenario& scenario = *on_ranks(rank_count_)[scenario_];
    for (int rank = 0; rank < rank_count_ && scenario.expected != nullptr; ++rank) {
      expect_lines(run->recorded(rank), scenario.expected({rank, rank_count_}), rank);
    }
    if (scenario.check != nullptr) scenario.check(*run);
  }

 private:
  int rank_count_;
  std::size_t scenario_;
};

/// Every line that is expected in a scenario, on any number of ranks.
int print_expected() {
  for (const int rank_count : {1, 2, 4}) {
    for (const Scenario* scenario : on_ranks(rank_count)) {
      for (int rank = 0; rank < rank_count && scenario->expected != nullptr; ++rank) {
        for (const std::string& line : scenario->expected({rank, rank_count}))
          std::cout << line << '\n';
      }
    }
  }
  return 0;
}

void register_tests(int rank_count) {
  const std::vector<const Scenario*> scenarios = on_ranks(rank_count);
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const std::string name = scenarios[i]->name;
    const std::string suite = name.substr(0, name.find('.'));
    const std::string test = name.substr(name.find('.') + 1) + "On" + std::to_string(rank_count);
    testing::RegisterTest(suite.c_str(), test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [=]() -> testing::Test* { return new ScenarioTest(rank_count, i); });
  }
}

}  // namespace

Scenario::Scenario(const char* its_name, Body its_body, Expected its_expected,
                   std::vector<int> its_rank_counts, Check its_check)
    : name(its_name),
      body(its_body),
      expected(its_expected),
      rank_counts(std::move(its_rank_counts)),
      check(its_check) {
  all().push_back(this);
}

std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

std::vector<int> on_ranks_of(std::vector<int> open_mpi, std::vector<int> mpich) {
  return faults::is_mpich() ? mpich : open_mpi;
}

int error_class(int error_code) {
  int error_class = MPI_SUCCESS;
  PMPI_Error_class(error_code, &error_class);
  return error_class;
}

void expect(bool is_true, const char* what) {
  if (is_true) return;
  g_has_failed = true;
  std::cerr << "rank " << g_me.rank << ": " << g_current->name << ": " << what << '\n';
}

int run_main(int argc, char** argv, int thread_level) {
  if (argc > 1 && std::strcmp(argv[1], "--scenarios") == 0) return play(argc, argv, thread_level);
  if (argc > 1 && std::strcmp(argv[1], "--expected") == 0) return print_expected();
  for (const int rank_count : {1, 2, 4}) register_tests(rank_count);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace megascope::mpitest
