#pragma once

#include "core/record/annotation.h"
#include "exporters/common/timeline.h"
#include "exporters/common/wait_cursor.h"
#include "exporters/perfetto/packet_stream.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace megascope::perfetto {

/// The waits of one process as slices within those of its calls, on the tracks of its threads.
/// Their names tell them apart in colour, because the viewer colours by name and passes over
/// numbers.
class WaitSlices {
 public:
  /// annotations: may be null; outlives this object, as packets does.
  WaitSlices(const Annotations* annotations, std::int32_t world_rank, PacketStream& packets);

  bool is_empty() const { return cursor_.is_empty(); }
  /// Content for the process's InternedData: names of slices from first_name on, of arguments from
  /// first_argument on, and one category.
  std::string interned(std::uint64_t first_name, std::uint64_t first_argument,
                       std::uint64_t category);

  /// Ends what ends before the event happens. To be called before the event is written.
  void before(const timeline::Event& event);
  /// Begins the wait of the call that was entered, if there is one. To be called when its slice was
  /// begun. track_uuid: its track.
  void entered(const timeline::Event& event, std::uint64_t track_uuid);

  std::uint64_t slice_count() const { return slice_count_; }

 private:
  struct Open {
    std::uint64_t end_ns;
    std::uint64_t track_uuid;
    LocationId location;
  };
  void end(std::size_t index, std::uint64_t time_ns);

  const Annotations* annotations_;
  std::span<const WaitAnnotation> waits_;
  timeline::WaitCursor cursor_;
  PacketStream& packets_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t>
      names_;  ///< by kind and rank waited for
  std::uint64_t first_argument_ = 0;
  std::uint64_t category_ = 0;
  std::vector<Open> open_;  ///< at most one a location
  FieldBuffer event_;
  FieldBuffer argument_;
  std::uint64_t slice_count_ = 0;
};

}  // namespace megascope::perfetto
