#include "core/trace/hook_stream.h"

#include <algorithm>

namespace megascope::trace {

bool HookChunks::next(HookRecord& record) {
  while (!decoder_.next(record)) {
    if (index_ == chunks_.size()) return false;
    const TraceFile::Chunk& chunk = chunks_[index_++];
    const std::span<const encoding::Word> words = words_.read(chunk);
    if (words.size() != chunk.word_count) file_.note_unreadable(chunk);
    decoder_.begin_chunk(words, chunk.base_ticks);
  }
  return true;
}

RegionStream::RegionStream(const TraceFile& file, LocationId location, const TimeMap& map)
    : records_(file, location), map_(map), end_ticks_(file.end_ticks()) {
  find_leaves(file, location);
}

void RegionStream::find_leaves(const TraceFile& file, LocationId location) {
  HookChunks records(file, location);
  std::vector<std::size_t> open;
  for (HookRecord record; records.next(record);) {
    switch (record.kind) {
      case HookRecord::Kind::kEnter:
        open.push_back(leave_ticks_.size());
        leave_ticks_.push_back(kNotLeft);
        break;
      case HookRecord::Kind::kLeave:
        if (open.empty()) break;  // entered in a dropped chunk
        leave_ticks_[open.back()] = record.ticks;
        open.pop_back();
        break;
      case HookRecord::Kind::kEnd:
        for (const std::size_t index : open) leave_ticks_[index] = record.ticks;
        open.clear();
        break;
      case HookRecord::Kind::kPoint:
        break;
    }
  }
}

bool RegionStream::next(Call& call) {
  do {
    if (!records_.next(record_)) return false;
  } while (record_.kind != HookRecord::Kind::kEnter);
  const std::uint64_t leave_ticks = leave_ticks_[index_++];
  call = {};
  call.region = record_.region;
  call.is_pending = leave_ticks == kNotLeft;
  call.facts = record_.values;
  call.enter_ns = map_.to_ns(record_.ticks);
  call.leave_ns = std::max(
      call.enter_ns,
      map_.to_ns(call.is_pending ? std::max(end_ticks_, record_.ticks) : leave_ticks));
  return true;
}

CallsAndRegions::CallsAndRegions(std::unique_ptr<CallStream> calls,
                                 std::unique_ptr<CallStream> regions)
    : calls_{std::move(calls), {}, false}, regions_{std::move(regions), {}, false} {
  calls_.fetch();
  regions_.fetch();
}

bool CallsAndRegions::region_is_first() const {
  if (!calls_.has_call || !regions_.has_call) return regions_.has_call;
  if (regions_.call.enter_ns != calls_.call.enter_ns)
    return regions_.call.enter_ns < calls_.call.enter_ns;
  return regions_.call.leave_ns >= calls_.call.leave_ns;
}

bool CallsAndRegions::next(Call& call) {
  if (taken_ != nullptr) taken_->fetch();
  taken_ = region_is_first() ? &regions_ : &calls_;
  if (!taken_->has_call) {
    taken_ = nullptr;
    return false;
  }
  call = taken_->call;
  return true;
}

bool LocationPoints::next(Point& point) {
  HookRecord record;
  do {
    if (!records_.next(record)) return false;
  } while (record.kind != HookRecord::Kind::kPoint);
  point = record.point;
  point.time_ns = map_.to_ns(record.ticks);
  if (point.kind == PointKind::kRangeStop) point.start_ns = map_.to_ns(record.start_ticks);
  return true;
}

}  // namespace megascope::trace
