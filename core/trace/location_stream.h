#pragma once

#include "core/clocks/time_map.h"
#include "core/encoding/call_decoder.h"
#include "core/record/call.h"
#include "core/trace/chunk_words.h"
#include "core/trace/reader.h"

#include <vector>

namespace megascope::trace {

/// Calls of one location in order of entry. A trace stores calls in order of return. The two orders
/// differ only for calls inside a callback of another call (depth > 0), which are stored before
/// their enclosing call. The stream holds these back until it has returned the enclosing call.
class LocationStream final : public CallStream {
 public:
  /// file: must outlive the stream.
  LocationStream(const TraceFile& file, LocationId location, const TimeMap& map);
  bool next(Call& call) override;

 private:
  struct Held {
    Call call;
    std::vector<Fact> facts;
  };
  bool next_recorded(Call& call);
  bool is_behind_gap() const;
  void begin_chunk();
  bool next_ticks(Call& call);
  void hold(const Call& call);
  void sort_held();
  bool take_held(Call& call);
  bool take_pending(Call& call);

  const TraceFile& file_;
  LocationId location_;
  TimeMap map_;
  ChunkWords words_;
  encoding::CallDecoder decoder_;
  std::size_t chunk_index_ = 0;
  bool has_begun_ = false;
  bool is_last_missing_ = false;  ///< the last chunk was dropped since the file was opened
  bool is_at_end_ = false;
  bool has_taken_pending_ = false;
  std::vector<Held> held_;
  std::size_t held_index_ = 0;
  std::vector<Fact> posted_;  ///< facts of the pending call
  bool is_draining_ = false;
};

}  // namespace megascope::trace
