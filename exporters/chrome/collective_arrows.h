#pragma once

#include "core/record/definitions.h"
#include "core/record/event_view.h"

#include <cstdint>
#include <vector>

namespace megascope::chrome {

/// The arrows of a collective, as seen by one member. In the Trace Event Format an arrow is lost if
/// it starts after its end. Arrows therefore follow the data. An arrow starts when a member enters,
/// and ends when a member leaves that must have waited for it.
///
/// - One to all (bcast, scatter): from the root to each member.
/// - All to one (gather, reduce): from each member to the root.
/// - Others: no member leaves before all have entered; one arrow starts at the first rank and
///   passes through the other ranks, in the order in which they leave.
class CollectiveArrows {
 public:
  /// process must outlive this object.
  explicit CollectiveArrows(const ProcessDefinitions& process)
      : comms_(process.comms), world_rank_(process.info.world_rank) {}

  /// The arrows that touch one member's call.
  struct Part {
    std::uint64_t start = 0;  ///< arrow that starts when the member enters; 0: none
    std::uint64_t step = 0;  ///< arrow that passes through the call when the member leaves; 0: none
    std::vector<std::uint64_t> ends;  ///< arrows that end when the member leaves
  };
  /// Returns the arrows of one call. event: the start or completion of a collective. operation: the
  /// kind of the collective.
  Part part_of(events::CollectiveOperation event, CollectiveOp operation) const;

 private:
  Part to_root(events::CollectiveOperation event, const CommDefinition& comm,
               std::uint64_t id) const;
  bool is_first(const CommDefinition& comm) const;
  bool is_root(events::CollectiveOperation event, const CommDefinition& comm) const;

  const std::vector<CommDefinition>& comms_;
  std::int32_t world_rank_;
};

}  // namespace megascope::chrome
