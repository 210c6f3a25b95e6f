#include "mpi_layer/own_communication/all_ranks.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/base/version.h"
#include "core/config/environment.h"
#include "mpi_layer/handles/hash.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"
#include "mpi_layer/own_communication/launcher_store.h"

#include <mpi.h>

#include <string>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace megascope::mpi {
namespace {

using launcher_store::Answer;

constexpr char
    kHereKey[] = "megascope.here";  // of every rank, stored before PMPI_Init: see here_text()
constexpr char kOutKey[] = "megascope.out";  // of every rank: it has left PMPI_Init
constexpr char kProtocol[] = "2";  // version of the library's messages: changes when the messages
                                   // in MPI_Init or their senders change
constexpr std::size_t kMaxListed = 32;
constexpr int kTries = 3;  // of a query that the launcher failed to answer
constexpr std::uint64_t kTimeoutNs = 2'000'000'000;
constexpr timespec kPause{0, 1'000'000};
constexpr int kTag = 0;
constexpr std::uint8_t kNotAll = 0;
constexpr std::uint8_t kAll = 1;

bool g_is_open = false;

/// Returns the node's name as launchers distinguish nodes.
std::string node_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return config::environment_value("SLURMD_NODENAME") + "." + host;
}
/// Without ':' and blanks.
std::string own_node() { return std::to_string(hash_text(node_name().c_str())); }

std::string here_text(const std::string& run_id) {
  return std::string(kProtocol) + ":" + kVersion + ":" + own_node() + ":" + run_id;
}

/// The entry of the library in `rank`, as far as the launcher knows.
struct PresenceEntry {
  std::string protocol;
  std::string version;  ///< empty: the library is not loaded
  std::string node;
  std::string run_id;

  bool is_ours() const { return version == kVersion && protocol == kProtocol; }
};
PresenceEntry entry_of(std::int32_t rank) {
  std::string here;
  Answer answer = Answer::kError;
  for (int i = 0; i < kTries && answer == Answer::kError; ++i)
    answer = launcher_store::get(rank, kHereKey, here);
  const std::vector<std::string> words = answer == Answer::kText ? split_list(here)
                                                                 : std::vector<std::string>();
  if (words.size() != 4)
    return {.protocol = {},
            .version = words.empty() ? std::string() : "another",
            .node = {},
            .run_id = {}};
  return {.protocol = words[0], .version = words[1], .node = words[2], .run_id = words[3]};
}
bool has_library(std::int32_t rank) { return entry_of(rank).is_ours(); }

/// Waits until a rank on another node has left PMPI_Init: Open MPI 4.1's TCP transport may crash in
/// a process that receives a message in PMPI_Init (docs/decisions/0003-all-ranks.md). Not longer
/// than launchers take to distribute entries.
void wait_until_out(std::int32_t rank, const PresenceEntry& entry) {
  if (entry.node == own_node()) return;
  const std::uint64_t begin_ns = clock::monotonic_ns();
  for (std::string text; launcher_store::get_late(rank, kOutKey, text) != Answer::kText;) {
    if (clock::monotonic_ns() - begin_ns > kTimeoutNs) return;
    nanosleep(&kPause, nullptr);
  }
}

/// A communicator of this process and another one that has the library and creates it as well. No
/// other process takes part.
class Pair {
 public:
  Pair(MPI_Group world, std::int32_t me, std::int32_t other) : other_rank_(other < me ? 0 : 1) {
    const int members[] = {other < me ? other : me, other < me ? me : other};
    MPI_Group group = g_handles.group_null;
    if (pmpi<Fn::Group_incl>()(world, 2, members, &group) != MPI_SUCCESS) return;
    if (pmpi<Fn::Comm_create_group>()(g_handles.comm_world, group, kTag, &comm_) != MPI_SUCCESS)
      comm_ = g_handles.comm_null;
    pmpi<Fn::Group_free>()(&group);
    if (comm_ != g_handles.comm_null)
      pmpi<Fn::Comm_set_errhandler>()(comm_, g_handles.errors_return);
  }
  ~Pair() {
    if (comm_ != g_handles.comm_null) pmpi<Fn::Comm_free>()(&comm_);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void send(std::uint8_t answer) {
    if (comm_ != g_handles.comm_null)
      pmpi<Fn::Send>()(&answer, 1, g_handles.byte, other_rank_, kTag, comm_);
  }
  std::uint8_t receive() {
    std::uint8_t answer = kNotAll;
    if (comm_ == g_handles.comm_null) return kNotAll;
    const int rc = pmpi<Fn::Recv>()(&answer, 1, g_handles.byte, other_rank_, kTag, comm_,
                                    MPI_STATUS_IGNORE);
    return rc == MPI_SUCCESS ? answer : kNotAll;
  }

 private:
  MPI_Comm comm_ = g_handles.comm_null;
  int other_rank_;
};

/// Determines whether every rank of the subtree has the library, in a binomial tree, and passes the
/// result of the root down.
class PresenceTree {
 public:
  PresenceTree(std::int32_t world_rank, std::int32_t world_size, bool is_asserted)
      : rank_(world_rank), size_(world_size), is_asserted_(is_asserted) {
    pmpi<Fn::Comm_group>()(g_handles.comm_world, &world_);
  }
  ~PresenceTree() { pmpi<Fn::Group_free>()(&world_); }
  PresenceTree(const PresenceTree&) = delete;
  PresenceTree& operator=(const PresenceTree&) = delete;

  /// Ranks further down answer first. Each pair is created when its lower rank learns of the higher
  /// one, so that no cycle of waiting ranks can form.
  std::uint8_t ask(std::int32_t mask) {
    if (mask >= size_) return kAll;  // the root
    if ((rank_ & mask) != 0) return ask_above(rank_ - mask);
    if (rank_ + mask >= size_) return ask(mask << 1);
    return ask_below(rank_ + mask, mask);
  }

 private:
  std::uint8_t ask_above(std::int32_t parent) {
    if (!is_here(parent)) return is_asserted_ && is_complete_ ? kAll : kNotAll;
    Pair pair(world_, rank_, parent);
    pair.send(is_complete_ ? kAll : kNotAll);
    return pair.receive();
  }
  std::uint8_t ask_below(std::int32_t child, std::int32_t mask) {
    if (!is_here(child)) {
      is_complete_ = is_complete_ && is_asserted_;
      const std::uint8_t above = ask(mask << 1);
      return is_complete_ ? above : kNotAll;
    }
    Pair pair(world_, rank_, child);
    if (pair.receive() != kAll) is_complete_ = false;
    const std::uint8_t above = ask(mask << 1);
    const std::uint8_t answer = is_complete_ ? above : kNotAll;
    pair.send(answer);
    return answer;
  }

  static bool is_here(std::int32_t neighbour) {
    const PresenceEntry entry = entry_of(neighbour);
    if (!entry.is_ours()) return false;
    wait_until_out(neighbour, entry);
    return true;
  }

  std::int32_t rank_;
  std::int32_t size_;
  bool is_asserted_;  ///< ranks without an entry are assumed to have the library, but cannot be
                      ///< informed
  MPI_Group world_ = g_handles.group_null;
  bool is_complete_ = true;
};

}  // namespace

void announce_presence(const std::string& run_id) {
  if (!launcher_store::open()) return;
  g_is_open = launcher_store::put(kHereKey, here_text(run_id));
  if (!g_is_open) launcher_store::close();
}

void share_entries() {
  if (!g_is_open) return;
  (void)launcher_store::put(kOutKey, "1");
  launcher_store::share();
}

std::string ask_run_id_of_rank_0() {
  if (!g_is_open) return {};
  const PresenceEntry entry = entry_of(0);
  return entry.is_ours() ? entry.run_id : std::string();
}

bool is_lowest_here(std::int32_t world_rank) {
  // Nearest first: if many consecutive ranks lack the library, only the next rank after them
  // queries all of these.
  for (std::int32_t rank = world_rank; g_is_open && rank-- > 0;) {
    if (has_library(rank)) return false;
  }
  return g_is_open || world_rank == 0;
}

PeerPresence query_presence(std::int32_t world_rank, std::int32_t world_size, bool is_asserted) {
  if (!g_is_open && is_asserted) return {.is_complete = true, .missing = {}, .reason = {}};
  if (!g_is_open) return {.is_complete = false, .missing = {}, .reason = launcher_store::kWhyNot};
  if (PresenceTree(world_rank, world_size, is_asserted).ask(1) == kAll)
    return {.is_complete = true, .missing = {}, .reason = {}};
  return {.is_complete = false, .missing = {}, .reason = "not all ranks have the library"};
}

void name_missing_ranks(std::int32_t world_size, PeerPresence& presence) {
  if (!g_is_open) return;
  for (std::int32_t rank = 0; rank < world_size && presence.missing.size() < kMaxListed; ++rank) {
    const PresenceEntry entry = entry_of(rank);
    if (entry.is_ours()) continue;
    presence.missing.push_back(rank);
    if (!entry.version.empty())
      presence.reason = "not all ranks have version " + std::string(kVersion) + " of the library";
  }
}

void withdraw_presence() {
  if (g_is_open) launcher_store::close();
  g_is_open = false;
}

}  // namespace megascope::mpi
