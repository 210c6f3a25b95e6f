#include "analysis/import/timeline_facts.h"

#include "core/base/hash.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace megascope::importer {
namespace {

/// One end of a message, or one member's part in a collective.
struct End {
  std::uint32_t kind = 0;  ///< which channel, or which operation of which group
  std::int32_t step = kUnknown;
  std::uint32_t position = 0;  ///< in the step
  std::uint32_t operation = 0;
  bool is_receive = false;

  auto key() const { return std::tuple(kind, step, position); }
};

/// Numbers of channels and of collective operations.
class Kinds {
 public:
  std::uint32_t of(const std::string& name) {
    return index_.try_emplace(name, static_cast<std::uint32_t>(index_.size())).first->second;
  }

 private:
  std::map<std::string, std::uint32_t> index_;
};

/// How many ends of this kind the worker had in the step before.
class Positions {
 public:
  std::uint32_t next(std::int32_t rank, const End& end) {
    std::uint64_t hash = combined(static_cast<std::uint64_t>(rank),
                                  static_cast<std::uint64_t>(end.step));
    hash = combined(hash, std::uint64_t{end.kind} << 1 | (end.is_receive ? 1 : 0));
    return counts_[hash]++;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> counts_;
};

std::vector<End> ends_of(const Timeline& timeline, const std::vector<std::int32_t>& rank_of_track,
                         const std::vector<OperationSemantics>& semantics_by_name) {
  Kinds kinds;
  Positions positions;
  std::vector<End> ends;
  const auto add = [&](std::size_t i, const std::string& kind, bool is_receive) {
    const Operation& operation = timeline.operations[i];
    End end{kinds.of(kind), operation.step, 0, static_cast<std::uint32_t>(i), is_receive};
    const std::uint32_t counted = positions.next(rank_of_track[operation.track], end);
    end.position = operation.sequence != kUnknown ? static_cast<std::uint32_t>(operation.sequence)
                                                  : counted;
    ends.push_back(end);
  };
  for (std::size_t i = 0; i < timeline.operations.size(); ++i) {
    const std::uint32_t name = timeline.operations[i].name;
    const OperationSemantics& semantics = semantics_by_name[name];
    const bool is_exchange = semantics.kind == OperationKind::kExchange;
    const std::string prefix = "message " + semantics.over + " ";
    if (semantics.kind == OperationKind::kCollective)
      add(i, "collective " + semantics.over + " " + timeline.names[name], false);
    if (semantics.kind == OperationKind::kSend || is_exchange)
      add(i, prefix + semantics.channel, false);
    if (semantics.kind == OperationKind::kRecv || is_exchange)
      add(i, prefix + (is_exchange ? semantics.channel_back : semantics.channel), true);
  }
  return ends;
}

}  // namespace

MatchNumbers::MatchNumbers(const Timeline& timeline, const std::vector<std::int32_t>& rank_of_track,
                           const OperationTable& table)
    : sent_(timeline.operations.size()), received_(timeline.operations.size()) {
  std::vector<OperationSemantics> semantics_by_name;
  for (const std::string& name : timeline.names) semantics_by_name.push_back(table.of(name));
  std::vector<End> ends = ends_of(timeline, rank_of_track, semantics_by_name);
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
    return std::tuple(a.key(), a.operation) < std::tuple(b.key(), b.operation);
  });
  // Those that belong together are neighbours now; they are numbered in the order in which the
  // first of them begins.
  std::vector<std::size_t> first_ends;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (i == 0 || ends[i].key() != ends[i - 1].key()) first_ends.push_back(i);
  }
  std::sort(first_ends.begin(), first_ends.end(), [&ends](std::size_t a, std::size_t b) {
    return ends[a].operation < ends[b].operation;
  });
  std::map<std::string, std::uint32_t> next;
  for (const std::size_t first : first_ends) {
    const OperationSemantics&
        semantics = semantics_by_name[timeline.operations[ends[first].operation].name];
    const bool is_collective = semantics.kind == OperationKind::kCollective;
    const std::uint32_t number = next[is_collective ? semantics.over : std::string()]++;
    for (std::size_t i = first; i < ends.size() && ends[i].key() == ends[first].key(); ++i) {
      (ends[i].is_receive ? received_ : sent_)[ends[i].operation] = number;
    }
  }
}

}  // namespace megascope::importer
