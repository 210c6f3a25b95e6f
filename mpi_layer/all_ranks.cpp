#include "mpi_layer/all_ranks.h"

#include <mpi.h>

#include <string>

#include "core/base/version.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/board.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {
namespace {

using board::Answer;

constexpr char kHereKey[] = "megascope.here";  // of every rank: "<library version>:<run id>"
constexpr std::size_t kMaxListed = 32;
constexpr int kTries = 3;  // of a question that the launcher failed to answer
constexpr int kTag = 0;
constexpr std::uint8_t kNotAll = 0;
constexpr std::uint8_t kAll = 1;

bool g_is_open = false;

std::string here_text(const std::string& run_id) { return std::string(kVersion) + ":" + run_id; }

/// What the library has put up in `rank`, as far as the launcher knows.
struct Notice {
  std::string version;  ///< empty: it has not
  std::string run_id;

  bool is_ours() const { return version == kVersion; }
};
Notice notice_of(std::int32_t rank) {
  std::string here;
  Answer answer = Answer::kError;
  for (int i = 0; i < kTries && answer == Answer::kError; ++i) answer = board::get(rank, kHereKey, here);
  if (answer != Answer::kText) return {};
  const std::size_t end = here.find(':');
  return end == std::string::npos ? Notice{} : Notice{here.substr(0, end), here.substr(end + 1)};
}
bool has_library(std::int32_t rank) { return notice_of(rank).is_ours(); }

/// A communicator of this process and another one that has the library and makes it too. No other process takes part.
class Pair {
 public:
  Pair(MPI_Group world, std::int32_t me, std::int32_t other) : other_rank_(other < me ? 0 : 1) {
    const int members[] = {other < me ? other : me, other < me ? me : other};
    MPI_Group group = g_handles.group_null;
    if (twin<Fn::Group_incl>()(world, 2, members, &group) != MPI_SUCCESS) return;
    if (twin<Fn::Comm_create_group>()(g_handles.comm_world, group, kTag, &comm_) != MPI_SUCCESS) comm_ = g_handles.comm_null;
    twin<Fn::Group_free>()(&group);
    if (comm_ != g_handles.comm_null) twin<Fn::Comm_set_errhandler>()(comm_, g_handles.errors_return);
  }
  ~Pair() {
    if (comm_ != g_handles.comm_null) twin<Fn::Comm_free>()(&comm_);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void send(std::uint8_t answer) {
    if (comm_ != g_handles.comm_null) twin<Fn::Send>()(&answer, 1, g_handles.byte, other_rank_, kTag, comm_);
  }
  std::uint8_t receive() {
    std::uint8_t answer = kNotAll;
    if (comm_ == g_handles.comm_null) return kNotAll;
    const int rc = twin<Fn::Recv>()(&answer, 1, g_handles.byte, other_rank_, kTag, comm_, MPI_STATUS_IGNORE);
    return rc == MPI_SUCCESS ? answer : kNotAll;
  }

 private:
  MPI_Comm comm_ = g_handles.comm_null;
  int other_rank_;
};

/// Is every rank below this one here, in a binomial tree? Tells it those that are, once the answer from above is known.
class CompanyTree {
 public:
  CompanyTree(std::int32_t world_rank, std::int32_t world_size) : rank_(world_rank), size_(world_size) {
    twin<Fn::Comm_group>()(g_handles.comm_world, &world_);
  }
  ~CompanyTree() { twin<Fn::Group_free>()(&world_); }
  CompanyTree(const CompanyTree&) = delete;
  CompanyTree& operator=(const CompanyTree&) = delete;

  /// Ranks further down answer first. Each pair is made where its lower rank hears of the higher one: no circle waits.
  std::uint8_t ask(std::int32_t mask) {
    if (mask >= size_) return kAll;  // the root
    if ((rank_ & mask) != 0) return ask_above(rank_ - mask);
    if (rank_ + mask >= size_) return ask(mask << 1);
    return ask_below(rank_ + mask, mask);
  }

 private:
  std::uint8_t ask_above(std::int32_t parent) {
    if (!has_library(parent)) return kNotAll;
    Pair pair(world_, rank_, parent);
    pair.send(is_complete_ ? kAll : kNotAll);
    return pair.receive();
  }
  std::uint8_t ask_below(std::int32_t child, std::int32_t mask) {
    if (!has_library(child)) {
      is_complete_ = false;
      (void)ask(mask << 1);
      return kNotAll;
    }
    Pair pair(world_, rank_, child);
    if (pair.receive() != kAll) is_complete_ = false;
    const std::uint8_t above = ask(mask << 1);
    const std::uint8_t answer = is_complete_ ? above : kNotAll;
    pair.send(answer);
    return answer;
  }

  std::int32_t rank_;
  std::int32_t size_;
  MPI_Group world_ = g_handles.group_null;
  bool is_complete_ = true;
};

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

Company ask_company(std::int32_t world_rank, std::int32_t world_size) {
  if (!g_is_open) return {.is_complete = false, .missing = {}, .reason = board::kWhyNot};
  if (CompanyTree(world_rank, world_size).ask(1) == kAll) return {.is_complete = true, .missing = {}, .reason = {}};
  return {.is_complete = false, .missing = {}, .reason = "not all ranks have the library"};
}

void name_missing_ranks(std::int32_t world_size, Company& company) {
  if (!g_is_open) return;
  for (std::int32_t rank = 0; rank < world_size && company.missing.size() < kMaxListed; ++rank) {
    const Notice notice = notice_of(rank);
    if (notice.is_ours()) continue;
    company.missing.push_back(rank);
    if (!notice.version.empty()) company.reason = "not all ranks have version " + std::string(kVersion) + " of the library";
  }
}

void leave_company() {
  if (g_is_open) board::close();
  g_is_open = false;
}

}  // namespace megascope::mpi
