#include "mpi_layer/all_ranks.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/base/clock.h"
#include "core/base/version.h"
#include "mpi_layer/board.h"

namespace megascope::mpi {
namespace {

using board::Answer;

constexpr char kHereKey[] = "megascope.here";        // of every rank: "<library version>:<run id>"
constexpr char kCompanyKey[] = "megascope.company";  // of rank 0: "all", or the ranks that are missing
constexpr char kAll[] = "all";
constexpr std::int64_t kFirstPauseNs = 1'000'000;
constexpr std::int64_t kLongestPauseNs = 20'000'000;
constexpr std::uint64_t kPatienceNs = 10'000'000'000;
constexpr int kMostErrors = 100;  // of a launcher that is gone
constexpr std::size_t kMaxListed = 32;

bool g_is_open = false;
std::string g_verdict;  // on rank 0

std::string here_text(const std::string& run_id) { return std::string(kVersion) + ":" + run_id; }

/// What the library has put up in `rank`, as far as the launcher knows.
struct Notice {
  std::string version;  ///< empty: it has not
  std::string run_id;

  bool is_ours() const { return version == kVersion; }
};
Notice notice_of(std::int32_t rank) {
  std::string here;
  if (board::get(rank, kHereKey, here) != Answer::kText) return {};
  const std::size_t end = here.find(':');
  return end == std::string::npos ? Notice{} : Notice{here.substr(0, end), here.substr(end + 1)};
}
bool has_library(std::int32_t rank) { return notice_of(rank).is_ours(); }

/// "all", or the ranks without it: "2+3", those with another version of it as "3:0.2.0".
std::string verdict_on(std::int32_t world_size) {
  std::string missing;
  std::size_t count = 0;
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    const Notice notice = notice_of(rank);
    if (notice.is_ours() || count++ >= kMaxListed) continue;
    missing += (missing.empty() ? "" : "+") + std::to_string(rank) + (notice.version.empty() ? "" : ":" + notice.version);
  }
  return missing.empty() ? kAll : missing;
}

Company company_of(const std::string& verdict) {
  if (verdict == kAll) return {.is_complete = true, .missing = {}, .reason = {}};
  Company company;
  const bool has_versions = verdict.find(':') != std::string::npos;
  company.reason = std::string("not all ranks have ") + (has_versions ? "version " + std::string(kVersion) + " of " : "") + "the library";
  for (std::size_t at = 0; at < verdict.size();) {
    const std::size_t end = std::min(verdict.find('+', at), verdict.size());
    company.missing.push_back(static_cast<std::int32_t>(std::strtol(verdict.c_str() + at, nullptr, 10)));
    at = end + 1;
  }
  return company;
}

/// Waits for the verdict that rank 0 gives. Where it does not arrive, this rank judges by the same notices, and so alike.
Company company_by_rank_0(std::int32_t world_size, void (*progress)()) {
  timespec pause{0, kFirstPauseNs};
  const std::uint64_t begin_ns = clock::monotonic_ns();
  for (int errors = 0; errors < kMostErrors;) {
    std::string verdict;
    const Answer answer = board::get_late(0, kCompanyKey, verdict);
    if (answer == Answer::kText) return company_of(verdict);
    if (answer == Answer::kError) ++errors;
    if (answer == Answer::kNothing && clock::monotonic_ns() - begin_ns > kPatienceNs) return company_of(verdict_on(world_size));
    progress();
    nanosleep(&pause, nullptr);
    pause.tv_nsec = std::min(pause.tv_nsec + pause.tv_nsec / 4, kLongestPauseNs);
  }
  return {.is_complete = false, .missing = {}, .reason = "the launcher no longer says whether all ranks have the library"};
}

}  // namespace

void announce_presence(const std::string& run_id) {
  if (!board::open()) return;
  g_is_open = board::put(kHereKey, here_text(run_id));
  if (!g_is_open) board::close();
}

void share_notices() {
  if (g_is_open) board::share();
}

std::string ask_run_id_of_rank_0() {
  if (!g_is_open) return {};
  const Notice notice = notice_of(0);
  return notice.is_ours() ? notice.run_id : std::string();
}

bool is_lowest_here(std::int32_t world_rank) {
  for (std::int32_t rank = 0; g_is_open && rank < world_rank; ++rank) {
    if (has_library(rank)) return false;
  }
  return g_is_open || world_rank == 0;
}

void judge_company(std::int32_t world_size) {
  if (!g_is_open || !board::kShowsLateNotices) return;
  g_verdict = verdict_on(world_size);
  if (!board::put(kCompanyKey, g_verdict)) g_verdict.clear();  // nobody will see it: nobody talks
}

Company ask_company(std::int32_t world_size, void (*progress)()) {
  if (!g_is_open) return {.is_complete = false, .missing = {}, .reason = board::kWhyNot};
  if (!g_verdict.empty()) return company_of(g_verdict);
  if (!board::kShowsLateNotices || !has_library(0)) return company_of(verdict_on(world_size));
  return company_by_rank_0(world_size, progress);
}

void leave_company() {
  if (g_is_open) board::close();
  g_is_open = false;
}

}  // namespace megascope::mpi
