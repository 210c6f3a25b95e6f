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
/// are set for kEnter, and `point` for kPoint. Pointers are valid until the next call of
/// Timeline::next().
struct Event {
  enum class Kind : std::uint8_t {
    kEnter,  ///< a call or region is entered
    kLeave,  ///< the innermost call or region of the location is left
    kPoint   ///< the application recorded a point
  };

  Kind kind = Kind::kEnter;
  LocationId location = 0;
  std::size_t frame = 0;       ///< number of enclosing calls of the location
  std::uint64_t time_ns = 0;   ///< time of this event
  std::uint64_t leave_ns = 0;  ///< kEnter: when the call will be left
  const Call* call = nullptr;
  const Point* point = nullptr;
  /// Flow ids of the call's message facts, in order (MessageOrder::flow_ids).
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

  /// Sets `event` to the next event. Returns false if there are no more events.
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
    std::span<const std::uint64_t> flow_ids;  ///< flow ids of `call` and all later calls

    void fetch();
    void fetch_point();
    bool has_events() const { return has_call || !open.empty(); }
    bool is_at_end() const { return !has_events() && !has_point; }
    /// Returns whether the next event is a point.
    bool reports_next() const {
      return has_point && (!has_events() || point.time_ns < next_event_ns());
    }
    std::uint64_t next_event_ns() const {
      return leaves_next() ? open.back().leave_ns : call.enter_ns;
    }
    /// Returns whether the next event leaves the innermost call.
    bool leaves_next() const;
    std::uint64_t next_time_ns() const;
  };

  /// Advances the current cursor beyond the event returned last, and puts it back into the heap.
  void settle();
  static bool is_later(const std::unique_ptr<Cursor>& a, const std::unique_ptr<Cursor>& b);
  static void enter(Cursor& cursor, Event& event);
  static void leave(Cursor& cursor, Event& event);
  static void report(Cursor& cursor, Event& event);

  UserRegions regions_;
  /// The cursors as a heap, in which the earliest event is first. If has_current_, the last element
  /// is not in the heap: it is the cursor of the event that was returned last.
  std::vector<std::unique_ptr<Cursor>> cursors_;
  bool has_current_ = false;
};

}  // namespace megascope::timeline
