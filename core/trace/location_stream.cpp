#include "core/trace/location_stream.h"

#include "core/record/event_view.h"

#include <algorithm>

namespace megascope::trace {

LocationStream::LocationStream(const TraceFile& file, LocationId location, const TimeMap& map)
    : file_(file), location_(location), map_(map) {}

bool LocationStream::next(Call& call) {
  if (!next_ticks(call)) return false;
  const std::uint64_t ticks = call.leave_ns - call.enter_ns;
  if (call.uncertain_ns != 0)
    call.uncertain_ns = map_.to_ns(latest_entry_ns(call)) - map_.to_ns(call.enter_ns);
  call.enter_ns = map_.to_ns(call.enter_ns);
  call.leave_ns = map_.to_ns(call.leave_ns);
  if (call.count > 1 && ticks != 0) {
    const double share = static_cast<double>(call.inside_ns) / static_cast<double>(ticks);
    call.inside_ns = static_cast<std::uint64_t>(share *
                                                static_cast<double>(call.leave_ns - call.enter_ns));
  }
  return true;
}

bool LocationStream::next_ticks(Call& call) {
  for (;;) {
    if (is_draining_) {
      if (take_held(call)) return true;
      is_draining_ = false;
    }
    if (!next_recorded(call)) break;
    if (call.depth == 0 && held_.empty()) return true;
    hold(call);
    if (call.depth == 0) sort_held();
  }
  if (!held_.empty()) {  // their enclosing call never returned
    sort_held();
    if (take_held(call)) return true;
  }
  return take_pending(call);
}

bool LocationStream::next_recorded(Call& call) {
  const auto& chunks = file_.chunks(location_);
  while (!is_at_end_) {
    if (has_begun_ && decoder_.next(call)) return true;
    if (chunk_index_ > 0) file_.release(chunks[chunk_index_ - 1]);
    if (chunk_index_ == chunks.size()) {
      is_at_end_ = true;
      return decoder_.flush(call);
    }
    if (is_behind_gap() && decoder_.flush(call)) return true;  // its further facts are missing
    begin_chunk();
  }
  return false;
}

/// Returns whether calls are missing before the next chunk.
bool LocationStream::is_behind_gap() const {
  const auto& chunks = file_.chunks(location_);
  if (chunk_index_ == 0) return chunks[0].sequence != 0;
  return is_last_missing_ || chunks[chunk_index_ - 1].sequence + 1 != chunks[chunk_index_].sequence;
}

/// Begins the next chunk. Behind a gap it may begin with facts of a call that is missing.
void LocationStream::begin_chunk() {
  const TraceFile::Chunk& chunk = file_.chunks(location_)[chunk_index_];
  const std::span<const encoding::Word> words = words_.read(chunk);
  decoder_.begin_chunk(words, chunk.base_ticks);
  if (is_behind_gap()) decoder_.skip_facts();
  is_last_missing_ = words.size() != chunk.word_count;
  if (is_last_missing_) file_.note_unreadable(chunk);
  ++chunk_index_;
  has_begun_ = true;
}

void LocationStream::hold(const Call& call) {
  held_.push_back({call, {call.facts.begin(), call.facts.end()}});
  Call& outer = held_.back().call;
  if (!events::find<events::Left>(call.facts)) return;
  for (const Held& inner : held_) {
    if (inner.call.enter_ns >= outer.enter_ns)
      outer.leave_ns = std::max(outer.leave_ns, inner.call.leave_ns);
  }
}

void LocationStream::sort_held() {
  std::stable_sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) {
    if (a.call.enter_ns != b.call.enter_ns) return a.call.enter_ns < b.call.enter_ns;
    if (a.call.leave_ns != b.call.leave_ns) return a.call.leave_ns > b.call.leave_ns;
    return a.call.depth < b.call.depth;  // records are in order of return: inner calls come first
  });
  held_index_ = 0;
  is_draining_ = true;
}

bool LocationStream::take_held(Call& call) {
  if (held_index_ == held_.size()) {
    held_.clear();
    return false;
  }
  const Held& held = held_[held_index_++];
  call = held.call;
  call.facts = held.facts;
  return true;
}

bool LocationStream::take_pending(Call& call) {
  if (has_taken_pending_) return false;
  has_taken_pending_ = true;
  if (file_.definitions().info.end_state == EndState::kFinalized ||
      !file_.pending_call(location_, call, posted_)) {
    return false;
  }
  call.posted = posted_;
  call.facts = {};  // nothing is known to have happened
  call.leave_ns = std::max(file_.end_ticks(), call.enter_ns);
  return true;
}

}  // namespace megascope::trace
