#include "mpi_layer/own_communication/clock_sync.h"

#include "core/base/clock.h"
#include "core/clocks/clock_domain.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/handles/hash.h"
#include "mpi_layer/lookup/pmpi.h"
#include "mpi_layer/own_communication/mpi_collective.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <pthread.h>

namespace megascope::mpi {

ClockSync* g_clock_sync = nullptr;

namespace {

// Within a domain the only question is whether it is one clock; between two domains the quickest
// answer counts.
constexpr PingLimits kCheck{.least = 3, .timeout = 1, .most = 4, .budget_ns = 1'000'000};
constexpr PingLimits kMeasure{.least = 8, .timeout = 32, .most = 400, .budget_ns = 2'000'000};
constexpr std::uint32_t kFirstCollective = 16;
constexpr double kMaxGrowth = 8.0;
constexpr double kMaxAhead = 4096.0;  // collectives: bounds the delay if they become slower
constexpr std::uint64_t kTimeoutNs = 1'000'000'000;
constexpr int kTagOfAll = 2;   // in MPI_Init and MPI_Finalize, where all ranks take part
constexpr int kTagOfSome = 3;  // in between: late messages must not answer later questions
constexpr std::int32_t kNone = -1;

std::string domain_name(const std::string& claimed, std::int32_t namer) {
  return namer == kNone ? claimed : claimed + " rank " + std::to_string(namer);
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

/// Keeps the lowest rank of each domain. mine and theirs ascend by domain.
void merge_entries(Collective::Bytes& mine, std::span<const std::byte> theirs) {
  std::vector<Entry> all = entries_of(mine);
  const std::vector<Entry> others = entries_of(theirs);
  all.insert(all.end(), others.begin(), others.end());
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return a.domain != b.domain ? a.domain < b.domain : a.rank < b.rank;
  });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const Entry& a, const Entry& b) { return a.domain == b.domain; }),
            all.end());
  mine.resize(all.size() * sizeof(Entry));
  std::memcpy(mine.data(), all.data(), mine.size());
}

}  // namespace

ClockSync::ClockSync(Collective& world, bool use_tsc, double interval_s, std::uint64_t settings)
    : world_(world),
      comm_(own_comm(world)),
      use_tsc_(use_tsc),
      interval_ns_(static_cast<std::uint64_t>(interval_s * 1e9)),
      settings_(settings),
      next_collective_(kNeverSynced) {}

/// One reduction: is a bit set in all, or in none?
std::array<bool, 2> ClockSync::are_same_everywhere(std::uint64_t first, std::uint64_t second) {
  const std::array<std::uint64_t, 4> mine{first, ~first, second, ~second};
  std::array<std::uint64_t, 4> all{};
  const int rc = pmpi<Fn::Allreduce>()(mine.data(), all.data(), static_cast<int>(sizeof all),
                                       g_handles.byte, g_handles.op_band, comm_);
  return {rc == MPI_SUCCESS && all[0] == ~all[1], rc == MPI_SUCCESS && all[2] == ~all[3]};
}

Wire ClockSync::wire(std::uint32_t round, std::uint64_t timeout_ns) const {
  return {.comm = comm_,
          .tag = timeout_ns == 0 ? kTagOfAll : kTagOfSome,
          .round = round,
          .timeout_ns = timeout_ns};
}

std::string ClockSync::find_domains(const std::string& claimed) {
  const std::uint64_t claimed_id = clock_domain_id(claimed);
  const auto [is_one_claim, has_same_settings] = are_same_everywhere(claimed_id,
                                                                     mix(settings_, interval_ns_));
  has_same_settings_ = has_same_settings;
  MPI_Comm members = comm_;
  bool is_sound = true;
  if (!is_one_claim) {
    constexpr std::uint64_t kColorMask = 0x7FFFFFFF;
    const auto color = static_cast<int>(claimed_id & kColorMask);
    is_sound = pmpi<Fn::Comm_split>()(comm_, color, world_.rank(), &members) == MPI_SUCCESS;
  }
  std::int32_t namer = kNone;
  is_sound = is_sound && check_domain(members, namer);
  if (!is_one_claim && is_sound) pmpi<Fn::Comm_free>()(&members);
  const std::string name = domain_name(claimed, namer);
  const std::uint64_t id = clock_domain_id(name);
  if (is_one_claim && is_same_everywhere(id)) return name;
  is_sound = find_leaders(id).is_ok() && is_sound;
  // Either all ranks compare clocks, or none does.
  if (!is_same_everywhere(is_sound ? 1 : mix(id, 2))) leaders_.clear();
  if (has_same_settings_ && has_several_domains() && interval_ns_ != 0)
    next_collective_ = kFirstCollective;
  last_measured_ns_ = last_planned_ns_ = clock::monotonic_ns();
  return name;
}

/// Down a binomial tree: a process that shows the time of its parent belongs to its parent's
/// domain. namer: rank from which the domain has its name; kNone for the claimed name.
bool ClockSync::check_domain(MPI_Comm members, std::int32_t& namer) {
  const Wire wire{.comm = members, .tag = kTagOfAll, .round = 0, .timeout_ns = 0};
  int rank = 0;
  int size = 1;
  pmpi<Fn::Comm_rank>()(members, &rank);
  pmpi<Fn::Comm_size>()(members, &size);
  bool is_sound = true;
  int mask = 1;
  for (; mask < size; mask <<= 1) {
    if ((rank & mask) == 0) continue;
    std::uint64_t parent_namer = 0;
    Pings pings;
    is_sound = wire.receive(parent_namer, rank - mask) &&
               ask_clock(wire, rank - mask, use_tsc_, kCheck, pings);
    namer = is_sound && pings.is_same_clock ? static_cast<std::int32_t>(parent_namer)
                                            : world_.rank();
    break;
  }
  for (mask >>= 1; mask > 0; mask >>= 1) {
    if (rank + mask >= size) continue;
    const bool is_received = wire.send(static_cast<std::uint64_t>(namer), rank + mask) &&
                             answer_pings(wire, rank + mask, use_tsc_);
    is_sound = is_received && is_sound;
  }
  return is_sound;
}

Status ClockSync::find_leaders(std::uint64_t domain) {
  const Entry mine{.domain = domain, .rank = world_.rank()};
  Collective::Bytes bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  const Status status = world_.merge_all(bytes, merge_entries);
  if (!status.is_ok()) return status;
  leaders_.clear();
  for (const Entry& entry : entries_of(bytes)) leaders_.push_back({entry.rank, entry.domain});
  std::sort(leaders_.begin(), leaders_.end(),
            [](const Leader& a, const Leader& b) { return a.rank < b.rank; });
  return Status::ok();
}

bool ClockSync::measure(ClockSample& sample) {
  bool has_asked = false;
  return measure_by(wire(0, 0), sample, has_asked) && has_asked;
}

bool ClockSync::measure_by(const Wire& wire, ClockSample& sample, bool& has_asked) {
  const auto mine = std::find_if(leaders_.begin(), leaders_.end(), [this](const Leader& leader) {
    return leader.rank == world_.rank();
  });
  if (mine == leaders_.end()) return true;
  const auto index = static_cast<std::size_t>(mine - leaders_.begin());
  for (std::size_t mask = 1; mask < leaders_.size(); mask <<= 1) {
    if ((index & mask) != 0) {
      const Leader& other = leaders_[index - mask];
      Pings pings;
      has_asked = ask_clock(wire, other.rank, use_tsc_, kMeasure, pings);
      sample = pings.best;
      sample.peer_domain = other.domain;
      return has_asked;
    }
    if (index + mask < leaders_.size() &&
        !answer_pings(wire, leaders_[index + mask].rank, use_tsc_))
      return false;
  }
  return true;
}

namespace {

// Message of rank 0: the next collective, and whether to measure now.
constexpr std::uint64_t kMeasures = std::uint64_t{1} << 32;
constexpr std::uint32_t next_of(std::uint64_t plan) { return static_cast<std::uint32_t>(plan); }

}  // namespace

/// Computes the next collective on rank 0, from the rate of collectives.
std::uint64_t ClockSync::plan_after(std::uint32_t sequence) {
  const std::uint64_t now_ns = clock::monotonic_ns();
  const std::uint64_t since_ns = now_ns - last_measured_ns_;
  const bool measures = since_ns >= interval_ns_;
  const std::uint64_t wanted_ns = measures ? interval_ns_ : interval_ns_ - since_ns;
  const auto count = static_cast<double>(std::max(sequence - last_sequence_, std::uint32_t{1}));
  const auto elapsed_ns = static_cast<double>(
      std::max(now_ns - last_planned_ns_, std::uint64_t{1}));
  const double most = std::min(count * kMaxGrowth, kMaxAhead);
  const double ahead = std::clamp(count / elapsed_ns * static_cast<double>(wanted_ns), 1.0, most);
  last_planned_ns_ = now_ns;
  last_sequence_ = sequence;
  if (measures) last_measured_ns_ = now_ns;
  const double next = std::min(static_cast<double>(sequence) + ahead,
                               static_cast<double>(kNeverSynced));
  return static_cast<std::uint32_t>(next) | (measures ? kMeasures : 0);
}

/// Broadcasts from rank 0 down a binomial tree.
bool ClockSync::share_plan(const Wire& wire, std::uint64_t& plan) {
  const int rank = world_.rank();
  const int size = world_.size();
  int mask = 1;
  for (; mask < size; mask <<= 1) {
    if ((rank & mask) == 0) continue;
    if (!wire.receive(plan, rank - mask)) return false;
    break;
  }
  for (mask >>= 1; mask > 0; mask >>= 1) {
    if (rank + mask < size && !wire.send(plan, rank + mask)) return false;
  }
  return true;
}

bool ClockSync::after_collective(std::uint32_t sequence, ClockSample& sample) {
  const Wire some = wire(sequence, kTimeoutNs);
  std::uint64_t plan = world_.rank() == 0 ? plan_after(sequence) : 0;
  bool has_asked = false;
  bool goes_on = share_plan(some, plan);
  if (goes_on && (plan & kMeasures) != 0) goes_on = measure_by(some, sample, has_asked);
  // A rank did not arrive: its count differs, or it is in a call that is not intercepted. Do not
  // try again.
  next_collective_ = goes_on ? next_of(plan) : kNeverSynced;
  return has_asked;
}

void sync_after_collective(MpiThread& thread, const CallRecord& call) noexcept {
  if (g_clock_sync == nullptr) return;
  int cancel_state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  const std::uint64_t begin = clock::ticks(thread.use_tsc);
  ClockSample sample;
  const bool has_asked = g_clock_sync->after_collective(call.main.sequence, sample);
  call.state->sync_at = g_clock_sync->next_collective();
  if (Recorder* active = recorder()) {
    if (has_asked) active->add(sample);
    active->add_overhead(clock::ticks(thread.use_tsc) - begin);
  }
  pthread_setcancelstate(cancel_state, nullptr);
}

}  // namespace megascope::mpi
