#pragma once

#include "core/clocks/time_map.h"
#include "core/record/point.h"
#include "core/trace/chunk_words.h"
#include "core/trace/hook_decoder.h"
#include "core/trace/reader.h"

#include <memory>
#include <vector>

namespace megascope::trace {

/// Records of one location's hook chunks, in order. file: must outlive the object.
class HookChunks {
 public:
  HookChunks(const TraceFile& file, LocationId location)
      : file_(file), chunks_(file.hook_chunks(location)) {}
  bool next(HookRecord& record);

 private:
  const TraceFile& file_;
  const std::vector<TraceFile::Chunk>& chunks_;
  ChunkWords words_;
  HookDecoder decoder_;
  std::size_t index_ = 0;
};

/// The annotated regions of one location in order of entry. The constructor reads all records once
/// to find the time at which each region was left; this takes 8 bytes for each region. A region
/// that was not left is returned as pending.
class RegionStream final : public CallStream {
 public:
  RegionStream(const TraceFile& file, LocationId location, const TimeMap& map);
  bool next(Call& call) override;

 private:
  static constexpr std::uint64_t kNotLeft = ~std::uint64_t{0};
  void find_leaves(const TraceFile& file, LocationId location);

  HookChunks records_;
  TimeMap map_;
  std::uint64_t end_ticks_;
  std::vector<std::uint64_t> leave_ticks_;  ///< by number of the entry
  std::size_t index_ = 0;
  HookRecord record_;  ///< holds the facts of the region returned last
};

/// MPI calls and annotated regions of a location, merged in order of entry.
class CallsAndRegions final : public CallStream {
 public:
  CallsAndRegions(std::unique_ptr<CallStream> calls, std::unique_ptr<CallStream> regions);
  bool next(Call& call) override;

 private:
  struct Head {
    std::unique_ptr<CallStream> stream;
    Call call;
    bool has_call = false;
    void fetch() { has_call = stream->next(call); }
  };
  bool region_is_first() const;

  Head calls_;
  Head regions_;
  Head* taken_ = nullptr;  ///< stream whose call was returned last
};

class LocationPoints final : public PointStream {
 public:
  LocationPoints(const TraceFile& file, LocationId location, const TimeMap& map)
      : records_(file, location), map_(map) {}
  bool next(Point& point) override;

 private:
  HookChunks records_;
  TimeMap map_;
};

}  // namespace megascope::trace
