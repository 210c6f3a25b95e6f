#pragma once

#include "core/record/message_order.h"
#include "core/record/source.h"
#include "core/record/user_regions.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace megascope::timeline {

/// A call that is entered or left, or a point recorded by the application. `call` and `leave_ns`
/// are set for kEnter, `point` for kPoint; pointers are valid until the next event is taken.
struct Event {
  enum class Kind : std::uint8_t { kEnter, kLeave, kPoint };

  Kind kind = Kind::kEnter;
  LocationId location = 0;
  std::size_t frame = 0;       ///< number of enclosing calls of the location
  std::uint64_t time_ns = 0;   ///< time of this event
  std::uint64_t leave_ns = 0;  ///< kEnter: when the call will be left
  const Call* call = nullptr;
  const Point* point = nullptr;
  /// Of the call's message facts, in order (MessageOrder::flow_ids)
  std::span<const std::uint64_t> flow_ids;
};

/// All calls, regions and points of one process as a sequence of enter, leave and point events in
/// time order over all locations. For any input: times do not decrease, a leave belongs to the
/// innermost open call of its location, and a call is within its enclosing call. Streaming; memory
/// is proportional to the number of open calls.
class Timeline {
 public:
  /// source and order must outlive this object.
  Timeline(const RecordSource& source, std::int32_t world_rank, const MessageOrder& order);

  /// Gets the next event. False at the end.
  bool next(Event& event);

 private:
  struct Frame {
    std::uint64_t leave_ns;
    std::uint8_t depth;
    bool is_region;
  };
  struct Cursor {
    LocationId location = 0;
    std::unique_ptr<CallStream> stream;
    Call call;  ///< the next call to enter
    bool has_call = false;
    bool is_region = false;  ///< `call` is a user region
    std::unique_ptr<PointStream> points;
    Point point;  ///< the next point, if has_point
    bool has_point = false;
    bool is_reported = false;  ///< `point` was returned by next()
    const UserRegions* regions = nullptr;
    bool is_entered = false;  ///< `call` was returned by next()
    std::vector<Frame> open;
    std::uint64_t now_ns = 0;
    std::span<const std::uint64_t> flow_ids;  ///< of the calls from `call` on

    void fetch();
    void fetch_point();
    bool has_events() const { return has_call || !open.empty(); }
    bool is_at_end() const { return !has_events() && !has_point; }
    /// Whether the next event is a point.
    bool reports_next() const {
      return has_point && (!has_events() || point.time_ns < next_event_ns());
    }
    std::uint64_t next_event_ns() const {
      return leaves_next() ? open.back().leave_ns : call.enter_ns;
    }
    /// Whether the next event leaves the innermost call.
    bool leaves_next() const;
    std::uint64_t next_time_ns() const;
  };

  /// Advances the current cursor beyond the event returned last, and puts it back into the heap.
  void settle();
  static bool is_later(const Cursor& a, const Cursor& b);
  static void enter(Cursor& cursor, Event& event);
  static void leave(Cursor& cursor, Event& event);
  static void report(Cursor& cursor, Event& event);

  UserRegions regions_;
  /// A heap, earliest event first, followed by the cursor of the last event.
  std::vector<Cursor> cursors_;
  bool has_current_ = false;
};

}  // namespace megascope::timeline
