#pragma once

#include "analysis/import/json_events.h"
#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace megascope::importer {

/// Reads a Chrome file that `megascope export --format chrome` wrote: calls and regions of each
/// rank, and messages and collectives from its flow events (arrows). Wait states and findings of
/// the analysis are ignored. The input is untrusted: errors state what is wrong with the event.
/// timeline: must outlive the object.
class OwnTimeline {
 public:
  explicit OwnTimeline(Timeline& timeline) : timeline_(timeline) {}

  /// Returns whether MegaScope wrote the file. generator: "otherData.generator" of the file.
  static bool wrote(const std::string& generator) { return generator.starts_with("megascope "); }

  Status add(const JsonEvent& event);
  /// Call after the last event.
  Status finish();

 private:
  using Key = std::pair<std::int32_t, std::int64_t>;  ///< rank, number of the track
  struct TrackState {
    std::uint32_t index = 0;
    std::uint32_t last = 0;  ///< the operation that was added last; the next arrows belong to it
    bool has_last = false;
  };
  /// Communicator and bytes of an operation, from its arguments.
  struct Specified {
    std::string comm;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_received = 0;
  };
  struct Arrow {
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t>
        ends;  ///< operations at which the arrow ends or through which it passes
  };

  /// One collective, that is, one call of each member.
  struct Instance {
    std::uint64_t begin_ns = 0;
    std::uint32_t root = 0;  ///< operation of the root, or of the rank at which the arrow begins
    std::vector<std::uint32_t> operations;  ///< operations of all members, by ascending rank
  };

  Status add_name(const JsonEvent& event);
  Status add_call(const JsonEvent& event);
  Status add_arrow(const JsonEvent& event);
  TrackState& track_of(std::int32_t rank, const JsonEvent& event);
  void define_region(std::uint32_t name, const JsonEvent& event);
  std::int32_t rank_of(std::uint32_t operation) const {
    return timeline_.tracks[timeline_.operations[operation].track].coordinates.rank;
  }
  const std::string& name_of(std::uint32_t operation) const {
    return timeline_.names[timeline_.operations[operation].name];
  }
  void define_processes();
  void add_messages();
  std::map<std::uint32_t, std::set<std::uint32_t>> collect_instances();
  void add_collectives();
  void add_comm(const std::string& name, const std::vector<std::int32_t>& members,
                const std::vector<Instance>& instances);
  void note_what_is_missing();
  void keep_facts();

  Timeline& timeline_;
  std::map<Key, TrackState> tracks_;
  std::map<Key, std::string> track_names_;
  std::map<std::int32_t, std::string> hosts_;
  std::vector<Specified> specified_;  ///< by operation
  std::map<std::string, Arrow, std::less<>> messages_;
  std::map<std::string, Arrow, std::less<>> collectives_;
  std::vector<std::pair<std::uint32_t, Fact>> facts_;  ///< by operation, in no order
  std::size_t annotation_count_ = 0;
  std::size_t other_count_ = 0;
  std::size_t incomplete_count_ = 0;
};

}  // namespace megascope::importer
