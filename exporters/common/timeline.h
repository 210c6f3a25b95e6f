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

/// A call is entered or left, or the program told something of a moment. What is said of `call`
/// holds for kEnter only, of `point` for kPoint; they are valid until the next event is taken.
struct Event {
  enum class Kind : std::uint8_t { kEnter, kLeave, kPoint };

  Kind kind = Kind::kEnter;
  LocationId location = 0;
  std::size_t frame = 0;       ///< how many calls of the location enclose this one
  std::uint64_t time_ns = 0;   ///< of this event
  std::uint64_t leave_ns = 0;  ///< kEnter: when the call will be left
  const Call* call = nullptr;
  const Point* point = nullptr;
  std::span<const std::uint64_t>
      flow_ids;  ///< of the call's message facts, in order (MessageOrder::flow_ids)
};

/// All calls of one process, and its regions and points, as entries and exits in the order of time,
/// over all its locations. Whatever the calls say: times never go back, every exit is the one of
/// the location's innermost open call, and a call lies within the one that encloses it. Streaming:
/// memory for the calls that are open.
class Timeline {
 public:
  /// source and order must outlive this object.
  Timeline(const RecordSource& source, std::int32_t world_rank, const MessageOrder& order);

  /// False at the end.
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
    Call call;  ///< the next to be entered
    bool has_call = false;
    bool is_region = false;  ///< `call` is one of the program's
    std::unique_ptr<PointStream> points;
    Point point;  ///< the next, if has_point
    bool has_point = false;
    bool is_told = false;  ///< `point` has been handed out
    const UserRegions* regions = nullptr;
    bool is_entered = false;  ///< `call` has been handed out
    std::vector<Frame> open;
    std::uint64_t now_ns = 0;
    std::span<const std::uint64_t> flow_ids;  ///< of the calls from `call` on

    void fetch();
    void fetch_point();
    bool has_events() const { return has_call || !open.empty(); }
    bool is_at_end() const { return !has_events() && !has_point; }
    /// The next event is a point.
    bool tells_next() const {
      return has_point && (!has_events() || point.time_ns < next_event_ns());
    }
    std::uint64_t next_event_ns() const {
      return leaves_next() ? open.back().leave_ns : call.enter_ns;
    }
    /// The next event leaves the innermost call.
    bool leaves_next() const;
    std::uint64_t next_time_ns() const;
  };

  /// Moves the current cursor past what was handed out, and back into the heap.
  void settle();
  static bool is_later(const Cursor& a, const Cursor& b);
  static void enter(Cursor& cursor, Event& event);
  static void leave(Cursor& cursor, Event& event);
  static void tell(Cursor& cursor, Event& event);

  UserRegions regions_;
  std::vector<Cursor>
      cursors_;  ///< a heap, the earliest event first; behind it the cursor of the last event
  bool has_current_ = false;
};

}  // namespace megascope::timeline
