#pragma once

#include "core/record/annotation.h"
#include "exporters/common/timeline.h"
#include "exporters/common/wait_cursor.h"
#include "exporters/perfetto/names.h"
#include "exporters/perfetto/packet_stream.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace megascope::perfetto {

/// Writes the waits of one process as slices within the slices of its calls. Their names contain
/// the kind and the rank, because the viewer colors slices by name and ignores numbers.
class WaitSlices {
 public:
  /// annotations: may be null. All other arguments must outlive this object, annotations too.
  WaitSlices(const Annotations* annotations, std::int32_t world_rank, Names& names,
             PacketStream& packets);

  bool is_empty() const { return cursor_.is_empty(); }
  /// Returns content for the process's InternedData message. It defines argument names with iids
  /// from Names::kFirstFreeArgument on, and one category.
  std::string interned();

  /// Ends the waits that end before the event. Call it before writing the event.
  void before(const timeline::Event& event);
  /// Begins the wait of the call that was entered, if it has one. Call it after beginning the
  /// call's slice. track_uuid: of that slice.
  void entered(const timeline::Event& event, std::uint64_t track_uuid);

  std::uint64_t slice_count() const { return slice_count_; }

 private:
  struct Open {
    std::uint64_t end_ns;
    std::uint64_t track_uuid;
    LocationId location;
  };
  void end(std::size_t index, std::uint64_t time_ns);
  std::uint64_t name_of(const WaitAnnotation& wait);

  const Annotations* annotations_;
  std::span<const WaitAnnotation> waits_;
  timeline::WaitCursor cursor_;
  Names& strings_;
  PacketStream& packets_;
  /// iids of event names, by kind of the wait and rank waited for.
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t> names_;
  std::vector<Open> open_;  ///< at most one for each location
  FieldBuffer event_;
  FieldBuffer argument_;
  std::uint64_t slice_count_ = 0;
};

}  // namespace megascope::perfetto
