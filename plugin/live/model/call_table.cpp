#include "plugin/live/model/call_table.h"

#include <algorithm>
#include <string_view>

namespace megascope::live {
namespace {

using capture::CallSum;

void add_to(CallSum& sum, const CallSum& more) {
  sum.calls += more.calls;
  sum.time_ms += more.time_ms;
  sum.bytes_sent += more.bytes_sent;
  sum.bytes_received += more.bytes_received;
}
void take_from(CallSum& sum, const CallSum& less) {
  sum.calls -= less.calls;
  sum.time_ms -= less.time_ms;
  sum.bytes_sent -= less.bytes_sent;
  sum.bytes_received -= less.bytes_received;
}
/// Whether `sum` can follow `before`. Totals of a rank never decrease; others come from damaged
/// updates.
bool is_later(const CallSum& sum, const CallSum& before) {
  return sum.calls >= before.calls && sum.bytes_sent >= before.bytes_sent &&
         sum.bytes_received >= before.bytes_received && sum.time_ms >= 0.0 && sum.time_ms < 1e18;
}

}  // namespace

void CallTable::begin(std::uint32_t ranks) {
  sources_.resize(ranks);
  ranks_.resize(ranks);
  cell_ranks_ = (ranks + kMaxCells - 1) / kMaxCells;
  cells_ = (ranks + cell_ranks_ - 1) / cell_ranks_;
  bytes_.assign(std::size_t{cells_} * cells_, 0.0);
  messages_.assign(bytes_.size(), 0.0);
}

void CallTable::add(std::int32_t world_rank, std::uint32_t ranks, const capture::CallSums& sums) {
  if (world_rank < 0 || static_cast<std::uint32_t>(world_rank) >= ranks) return;
  if (sources_.empty()) {
    begin(ranks);
    first_index_ = sums.index;
  }
  Source& source = sources_[static_cast<std::size_t>(world_rank)];
  Rank& rank = ranks_[static_cast<std::size_t>(world_rank)];
  for (const auto& [id, newest] : source.newest) take_from(functions_[id].newest, newest);
  source.newest.clear();
  source.index = sums.index;
  rank.elapsed_ms = std::max(rank.elapsed_ms, sums.elapsed_ms);
  newest_ = std::max(newest_, sums.index - first_index_);
  std::string_view names = sums.names;
  for (const CallSum& sum : sums.functions) {
    const std::size_t end = std::min(names.find('\n'), names.size());
    add_function(source, rank, std::string(names.substr(0, end)), sum);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  for (const capture::PeerSum& peer : sums.peers) add_peer(source, world_rank, peer);
  ++version_;
}

void CallTable::add_function(Source& source, Rank& rank, const std::string& name,
                             const CallSum& sum) {
  const auto known = function_ids_.find(name);
  if (known == function_ids_.end() && functions_.size() == kMaxFunctions) return;
  const std::uint32_t id = known != function_ids_.end()
                               ? known->second
                               : static_cast<std::uint32_t>(functions_.size());
  if (known == function_ids_.end()) {
    function_ids_.emplace(name, id);
    functions_.push_back({.name = name, .total = {}, .newest = {}});
  }
  CallSum& before = source.totals[id];
  if (!is_later(sum, before)) return;
  CallSum grown = sum;
  take_from(grown, before);
  // The tick rate is measured again each time, so the total may decrease slightly.
  grown.time_ms = std::max(grown.time_ms, 0.0);
  before = sum;
  add_to(functions_[id].total, grown);
  add_to(functions_[id].newest, grown);
  add_to(source.newest[id], grown);
  rank.mpi_ms += grown.time_ms;
}

void CallTable::add_peer(Source& source, std::int32_t world_rank, const capture::PeerSum& sum) {
  if (sum.world_rank < 0 || static_cast<std::size_t>(sum.world_rank) >= sources_.size()) return;
  auto at = source.peers.find(sum.world_rank);
  if (at == source.peers.end()) {
    if (pairs_ == kMaxPairs) {
      ++ignored_pairs_;
      return;
    }
    ++pairs_;
    at = source.peers.emplace(sum.world_rank, capture::PeerSum{}).first;
  }
  if (sum.bytes < at->second.bytes || sum.messages < at->second.messages) return;
  const std::size_t cell = static_cast<std::size_t>(world_rank) / cell_ranks_ * cells_ +
                           static_cast<std::size_t>(sum.world_rank) / cell_ranks_;
  bytes_[cell] += static_cast<double>(sum.bytes - at->second.bytes);
  messages_[cell] += static_cast<double>(sum.messages - at->second.messages);
  at->second = sum;
}

}  // namespace megascope::live
