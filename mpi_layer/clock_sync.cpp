#include "mpi_layer/clock_sync.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/clock.h"
#include "core/record/clock_domain.h"
#include "mpi_layer/comms.h"
#include "mpi_layer/control.h"
#include "mpi_layer/mpi_collective.h"
#include "mpi_layer/ping_pong.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {

ClockSync* g_clock_sync = nullptr;

namespace {

// Within a domain the question is only whether it is one clock; between two the quickest answer counts.
constexpr PingLimits kCheck{.least = 2, .patience = 0, .most = 4, .budget_ns = 1'000'000};
constexpr PingLimits kMeasure{.least = 8, .patience = 32, .most = 400, .budget_ns = 2'000'000};
constexpr std::uint32_t kFirstCollective = 16;
constexpr double kMostGrowth = 8.0;
constexpr std::int32_t kNobody = -1;

std::string domain_name(const std::string& claimed, std::int32_t namer) {
  return namer == kNobody ? claimed : claimed + " rank " + std::to_string(namer);
}

struct Entry {
  std::uint64_t domain;
  std::int32_t rank;
  std::int32_t unused = 0;
};

std::vector<Entry> entries_of(std::span<const std::byte> bytes) {
  std::vector<Entry> entries(bytes.size() / sizeof(Entry));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Entry));
  return entries;
}

/// Of each domain the lowest rank. mine and theirs ascend by domain.
void merge_entries(Collective::Bytes& mine, std::span<const std::byte> theirs) {
  std::vector<Entry> all = entries_of(mine);
  const std::vector<Entry> others = entries_of(theirs);
  all.insert(all.end(), others.begin(), others.end());
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return a.domain != b.domain ? a.domain < b.domain : a.rank < b.rank;
  });
  all.erase(std::unique(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.domain == b.domain; }), all.end());
  mine.resize(all.size() * sizeof(Entry));
  std::memcpy(mine.data(), all.data(), mine.size());
}

}  // namespace

ClockSync::ClockSync(Collective& world, bool use_tsc, double interval_s)
    : world_(world), comm_(own_comm(world)), use_tsc_(use_tsc), interval_ns_(static_cast<std::uint64_t>(interval_s * 1e9)) {}

/// One reduction: a bit is set in all, or in none.
bool ClockSync::is_same_everywhere(std::uint64_t value) {
  const std::array<std::uint64_t, 2> mine{value, ~value};
  std::array<std::uint64_t, 2> all{};
  const int rc = twin<Fn::Allreduce>()(mine.data(), all.data(), static_cast<int>(sizeof all), g_handles.byte, g_handles.op_band, comm_);
  return rc == MPI_SUCCESS && all[0] == ~all[1];
}

std::string ClockSync::find_domains(const std::string& claimed) {
  const std::uint64_t claimed_id = clock_domain_id(claimed);
  const bool is_one_claim = is_same_everywhere(claimed_id);
  MPI_Comm members = comm_;
  if (!is_one_claim) {
    constexpr std::uint64_t kColorMask = 0x7FFFFFFF;
    const int rc = twin<Fn::Comm_split>()(comm_, static_cast<int>(claimed_id & kColorMask), world_.rank(), &members);
    if (rc != MPI_SUCCESS) return claimed;
  }
  const std::string name = domain_name(claimed, check_domain(members));
  if (!is_one_claim) twin<Fn::Comm_free>()(&members);
  const std::uint64_t id = clock_domain_id(name);
  const bool is_one = is_one_claim && is_same_everywhere(id);
  if (!is_one && !find_leaders(id).is_ok()) leaders_.clear();
  if (has_several_domains() && interval_ns_ != 0) next_collective_ = kFirstCollective;
  last_measured_ns_ = last_planned_ns_ = clock::monotonic_ns();
  return name;
}

/// Down a binomial tree: who shows the time of its parent is of its parent's domain. Returns the rank that the domain has its
/// name from, kNobody where it is the claimed one.
std::int32_t ClockSync::check_domain(MPI_Comm members) {
  constexpr int kTag = 3;
  int rank = 0;
  int size = 1;
  twin<Fn::Comm_rank>()(members, &rank);
  twin<Fn::Comm_size>()(members, &size);
  std::int32_t namer = kNobody;
  int mask = 1;
  for (; mask < size; mask <<= 1) {
    if ((rank & mask) == 0) continue;
    Pings pings;
    twin<Fn::Recv>()(&namer, static_cast<int>(sizeof namer), g_handles.byte, rank - mask, kTag, members, MPI_STATUS_IGNORE);
    if (!ask_clock(members, rank - mask, use_tsc_, kCheck, pings) || !pings.is_same_clock) namer = world_.rank();
    break;
  }
  for (mask >>= 1; mask > 0; mask >>= 1) {
    if (rank + mask >= size) continue;
    twin<Fn::Send>()(&namer, static_cast<int>(sizeof namer), g_handles.byte, rank + mask, kTag, members);
    (void)answer_pings(members, rank + mask, use_tsc_);
  }
  return namer;
}

Status ClockSync::find_leaders(std::uint64_t domain) {
  const Entry mine{.domain = domain, .rank = world_.rank()};
  Collective::Bytes bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  const Status status = world_.merge_all(bytes, merge_entries);
  if (!status.is_ok()) return status;
  leaders_.clear();
  for (const Entry& entry : entries_of(bytes)) leaders_.push_back({entry.rank, entry.domain});
  std::sort(leaders_.begin(), leaders_.end(), [](const Leader& a, const Leader& b) { return a.rank < b.rank; });
  return Status::ok();
}

bool ClockSync::measure(ClockSample& sample) {
  const auto mine = std::find_if(leaders_.begin(), leaders_.end(),
                                 [this](const Leader& leader) { return leader.rank == world_.rank(); });
  if (mine == leaders_.end()) return false;
  const auto index = static_cast<std::size_t>(mine - leaders_.begin());
  for (std::size_t mask = 1; mask < leaders_.size(); mask <<= 1) {
    if ((index & mask) != 0) {
      const Leader& other = leaders_[index - mask];
      Pings pings;
      if (!ask_clock(comm_, other.rank, use_tsc_, kMeasure, pings)) return false;
      sample = pings.best;
      sample.peer_domain = other.domain;
      return true;
    }
    if (index + mask < leaders_.size() && !answer_pings(comm_, leaders_[index + mask].rank, use_tsc_)) return false;
  }
  return false;
}

/// On rank 0, from how fast collectives come.
ClockSync::Plan ClockSync::plan_after(std::uint32_t sequence) {
  const std::uint64_t now_ns = clock::monotonic_ns();
  const std::uint64_t since_ns = now_ns - last_measured_ns_;
  const bool measures = since_ns >= interval_ns_;
  const std::uint64_t wanted_ns = measures ? interval_ns_ : interval_ns_ - since_ns;
  const auto count = static_cast<double>(std::max(sequence - last_sequence_, std::uint32_t{1}));
  const double elapsed_ns = static_cast<double>(std::max(now_ns - last_planned_ns_, std::uint64_t{1}));
  const double ahead = std::clamp(count / elapsed_ns * static_cast<double>(wanted_ns), 1.0, count * kMostGrowth);
  last_planned_ns_ = now_ns;
  last_sequence_ = sequence;
  if (measures) last_measured_ns_ = now_ns;
  const double next = static_cast<double>(sequence) + ahead;
  return {.next_collective = next < kNeverSynced ? static_cast<std::uint32_t>(next) : kNeverSynced,
          .measures = measures ? std::uint32_t{1} : 0};
}

bool ClockSync::at_collective(std::uint32_t sequence, ClockSample& sample) {
  Plan plan{.next_collective = kNeverSynced, .measures = 0};
  if (world_.rank() == 0) plan = plan_after(sequence);
  if (!world_.bcast(std::as_writable_bytes(std::span(&plan, 1)), 0).is_ok()) plan = {kNeverSynced, 0};
  next_collective_ = plan.next_collective;
  return plan.measures != 0 && measure(sample);
}

void sync_before_collective(MpiThread& thread, CallRecord& call) noexcept {
  if (g_clock_sync == nullptr) return;
  ClockSample sample;
  const bool has_asked = g_clock_sync->at_collective(call.main.sequence, sample);
  call.state->sync_at = g_clock_sync->next_collective();
  const std::uint64_t now = clock::ticks(thread.use_tsc);
  if (Recorder* active = recorder()) {
    if (has_asked) active->add(sample);
    active->add_overhead(now - call.enter_ticks);
  }
  call.enter_ticks = now;  // the wait was ours
}

}  // namespace megascope::mpi
