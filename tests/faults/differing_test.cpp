#include "core/config/options.h"
#include "tests/faults/launch.h"
#include "tests/faults/process.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

/// Options that one rank of a job has and the other has not. Every row of the option table is
/// tried, on rank 0 alone and on rank 1 alone: no value of an option decides alone whether a rank
/// takes part in something that others wait in.
namespace megascope::faults {
namespace {

using config::Accepts;
using config::OptionRow;
using test::TemporaryDirectory;

constexpr int kTimeoutS = 60;
constexpr std::size_t kJobsAtOnce = 3;

/// "1" where "0" is the default, and the other way round.
std::string other_switch(const OptionRow& row) { return row.default_text == "1" ? "0" : "1"; }

/// Valid values of an option, from what the table says that it accepts: all of a choice, of others
/// some.
std::vector<std::string> values_of(const OptionRow& row) {
  std::vector<std::string> values{std::string(row.example)};
  switch (row.accepts.kind) {
    case Accepts::Kind::kAnything:
    case Accepts::Kind::kItems:
      break;
    case Accepts::Kind::kRange:
    case Accepts::Kind::kCount:
      values.push_back(std::to_string(row.accepts.least));
      break;
    case Accepts::Kind::kSeconds:
      values.emplace_back("0");
      break;
    case Accepts::Kind::kWords:
    case Accepts::Kind::kList:
      for (const std::string_view word : config::choices_of(row)) values.emplace_back(word);
      break;
    case Accepts::Kind::kSwitch:
      values = {other_switch(row)};
      break;
    case Accepts::Kind::kPort:
      values = {"0"};  // any that is free: others may have the example's
      break;
  }
  std::erase(values, row.default_text);
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
  return values;
}

/// A job of two ranks. `setting` is that of `rank` alone, `common` that of both.
class Job {
 public:
  Job(int rank, std::string setting, const std::vector<std::string>& common)
      : setting_(std::move(setting)), rank_(rank) {
    Command command{.arguments = launcher(),
                    .environment = launch_environment(2),
                    .directory = directory_.path(),
                    .before_exec = {}};
    const std::vector<std::string> part = ranks_with(2, MEGASCOPE_TEST_LIBRARY);
    command.arguments.insert(command.arguments.end(), part.begin(), part.end());
    command.arguments.insert(command.arguments.end(), {MEGASCOPE_TEST_DIFFERING, rank_variable(),
                                                       std::to_string(rank), setting_});
    if (!is_mpich())
      command.environment.push_back("OMPI_MCA_orte_tmpdir_base=" + directory_.path());
    command.environment.insert(command.environment.end(), common.begin(), common.end());
    child_ = std::make_unique<Child>(std::move(command));
  }

  void expect_end() {
    const Ending ending = child_->wait(kTimeoutS);
    const std::string what = setting_ + " on rank " + std::to_string(rank_) + " alone";
    EXPECT_FALSE(ending.has_timed_out) << what << "\n" << ending.err;
    EXPECT_EQ(ending.signal, 0) << what << "\n" << ending.err;
    EXPECT_EQ(ending.exit_code, 0) << what << "\n" << ending.err;
  }

 private:
  TemporaryDirectory directory_;
  std::string setting_;
  int rank_;
  std::unique_ptr<Child> child_;
};

/// Some jobs at a time. Returns how many there were.
std::size_t expect_all_to_end(const std::vector<std::string>& settings,
                              const std::vector<std::string>& common) {
  std::deque<Job> running;
  for (const std::string& setting : settings) {
    for (const int rank : {0, 1}) {
      if (running.size() == kJobsAtOnce) {
        running.front().expect_end();
        running.pop_front();
      }
      running.emplace_back(rank, setting, common);
    }
  }
  for (Job& job : running) job.expect_end();
  return settings.size() * 2;
}

std::vector<std::string> all_settings() {
  std::vector<std::string> settings;
  for (const OptionRow& row : config::option_rows()) {
    const std::vector<std::string> values = values_of(row);
    EXPECT_FALSE(values.empty()) << row.name << ": no value was made for it";
    for (const std::string& value : values) settings.push_back(std::string(row.name) + "=" + value);
  }
  return settings;
}

/// Ranks that compare their clocks in collectives and talk at steps: all traffic of the library
/// that there is.
const std::vector<std::string> kBusy = {"MEGASCOPE_TENSORS=*",
                                        "MEGASCOPE_CONTROL=on",
                                        "MEGASCOPE_LIVE=0",
                                        "MEGASCOPE_TEST_CLOCK=1/1000000/20",
                                        "MEGASCOPE_SYNC_INTERVAL=0.001",
                                        "MEGASCOPE_NAN_STEPS=2",
                                        "MEGASCOPE_STEP_WAIT=0.2"};

TEST(Differing, VerboseOnOneRankHoldsNone) {
  EXPECT_EQ(expect_all_to_end({"MEGASCOPE_VERBOSE=1"}, {"MEGASCOPE_EXPORT=none"}), 2u);
}

TEST(Differing, EveryOptionOnOneRankHoldsNone) {
  const std::size_t jobs = expect_all_to_end(all_settings(), {});
  EXPECT_GE(jobs, config::option_rows().size() * 2);
  RecordProperty("jobs", static_cast<int>(jobs));
}

TEST(Differing, EveryOptionOnOneRankHoldsNoneWhereRanksExchangeAllTheTime) {
  std::vector<std::string> settings = all_settings();
  for (const std::string& setting : kBusy)
    settings.push_back(setting.substr(0, setting.find('=') + 1));  // its default
  RecordProperty("jobs", static_cast<int>(expect_all_to_end(settings, kBusy)));
}

}  // namespace
}  // namespace megascope::faults
