#include "exporters/common/timeline.h"

#include "core/record/cpu_reading.h"

#include <algorithm>
#include <utility>

namespace megascope::timeline {

void Timeline::Cursor::fetch() {
  if (is_entered) {
    const auto messages = std::ranges::count_if(call.facts, MessageOrder::is_message);
    flow_ids = flow_ids.subspan(std::min(flow_ids.size(), static_cast<std::size_t>(messages)));
  }
  is_entered = false;
  has_call = stream->next(call);
  is_region = has_call && regions->has(call);
}

void Timeline::Cursor::fetch_point() {
  is_reported = false;
  has_point = points != nullptr && next_of_program(*points, point);
}

bool Timeline::Cursor::leaves_next() const {
  if (open.empty()) return false;
  if (!has_call) return true;
  // Regions have no depth: a call entered before a region is left is inside it.
  if (is_region || open.back().is_region)
    return call.enter_ns >= open.back().leave_ns && call.depth <= open.back().depth;
  return call.depth <= open.back().depth || call.enter_ns > open.back().leave_ns;
}

std::uint64_t Timeline::Cursor::next_time_ns() const {
  return std::max(now_ns, reports_next() ? point.time_ns : next_event_ns());
}

Timeline::Timeline(const RecordSource& source, std::int32_t world_rank, const MessageOrder& order)
    : regions_(source.process(world_rank)) {
  for (const LocationDefinition& location : source.process(world_rank).locations) {
    auto cursor = std::make_unique<Cursor>();
    cursor->location = location.id;
    cursor->stream = source.calls(world_rank, location.id);
    cursor->points = source.points(world_rank, location.id);
    cursor->regions = &regions_;
    cursor->flow_ids = order.flow_ids(location.id);
    cursor->fetch();
    cursor->fetch_point();
    if (!cursor->is_at_end()) cursors_.push_back(std::move(cursor));
  }
  std::ranges::make_heap(cursors_, is_later);
}

bool Timeline::is_later(const std::unique_ptr<Cursor>& a, const std::unique_ptr<Cursor>& b) {
  return std::pair(a->next_time_ns(), a->location) > std::pair(b->next_time_ns(), b->location);
}

bool Timeline::next(Event& event) {
  if (has_current_) settle();
  has_current_ = !cursors_.empty();
  if (!has_current_) return false;
  std::ranges::pop_heap(cursors_, is_later);
  Cursor& cursor = *cursors_.back();
  event.location = cursor.location;
  if (cursor.reports_next()) {
    report(cursor, event);
  } else if (cursor.leaves_next()) {
    leave(cursor, event);
  } else {
    enter(cursor, event);
  }
  return true;
}

void Timeline::settle() {
  Cursor& cursor = *cursors_.back();
  if (cursor.is_entered) cursor.fetch();
  if (cursor.is_reported) cursor.fetch_point();
  if (cursor.is_at_end()) {
    cursors_.pop_back();
  } else {
    std::ranges::push_heap(cursors_, is_later);
  }
}

void Timeline::enter(Cursor& cursor, Event& event) {
  const Call& call = cursor.call;
  event.kind = Event::Kind::kEnter;
  event.frame = cursor.open.size();
  event.time_ns = cursor.now_ns = cursor.next_time_ns();
  event.leave_ns = std::max(call.leave_ns, event.time_ns);
  if (!cursor.open.empty()) event.leave_ns = std::min(event.leave_ns, cursor.open.back().leave_ns);
  event.call = &call;
  event.flow_ids = cursor.flow_ids;
  cursor.open.push_back({event.leave_ns, call.depth, cursor.is_region});
  cursor.is_entered = true;
}

void Timeline::leave(Cursor& cursor, Event& event) {
  event.kind = Event::Kind::kLeave;
  event.time_ns = cursor.now_ns = cursor.next_time_ns();
  cursor.open.pop_back();
  event.frame = cursor.open.size();
  event.leave_ns = event.time_ns;
  event.call = nullptr;
  event.flow_ids = {};
}

void Timeline::report(Cursor& cursor, Event& event) {
  event.kind = Event::Kind::kPoint;
  event.time_ns = cursor.now_ns = cursor.next_time_ns();
  event.frame = cursor.open.size();
  event.leave_ns = event.time_ns;
  event.call = nullptr;
  event.point = &cursor.point;
  event.flow_ids = {};
  cursor.is_reported = true;
}

}  // namespace megascope::timeline
