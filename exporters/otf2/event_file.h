#pragma once

#include "core/base/status.h"
#include "core/record/call.h"
#include "core/record/value_fact.h"
#include "exporters/otf2/archive.h"
#include "exporters/otf2/calls.h"
#include "exporters/otf2/io_events.h"
#include "exporters/otf2/request_table.h"
#include "exporters/otf2/rma_events.h"
#include "exporters/otf2/shared_definitions.h"

#include <otf2/otf2.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace megascope::otf2 {

/// Attributes of events, by their id in the archive.
enum class EventAttribute : std::uint32_t {
  kUnfinished,  ///< uint8 on a Leave: 1 the call had not returned when the trace ended, 2 it was
                ///< left otherwise (kLeft)
  kMpiError,    ///< int64 on a Leave: what the call returned, where that was no success
  kCallCount,  ///< uint64 on an Enter: calls in a row that found nothing, which this one stands for
  kRemoteWorld,  ///< string on an Enter: the communicator by which the call reaches into another
                 ///< world
  kComm,         ///< on a Leave with the attributes below: the communicator that they are about
  kFoundSource,  ///< int64 on a Leave: what a probe, or a look at a request, found; rank in the
                 ///< communicator
  kFoundTag,     ///< int64
  kFoundBytes,   ///< uint64
  kRangeStart,   ///< uint64 on an Enter of a region that takes no time: the number of a range that
                 ///< starts
  kRangeStop,    ///< the same of one that is stopped
  kFirstValue,   ///< int64 on a Leave, one a name in value_fact.h
  kFileOffset = kFirstValue + kValueNameCount,  ///< uint64 on an IoOperationBegin: the explicit
                                                ///< offset, in elementary types of the view
  kCallSite,            ///< string on an Enter: the place that the call was made from
  kSourceCodeLocation,  ///< on an Enter: its line, where it is known
};

/// Facts about a whole archive that are known once events have been written.
struct EventSummary {
  std::uint64_t last_time_ns = 0;
  bool has_undefined_region = false;
  std::vector<bool> comms_with_events;        ///< by OTF2 id: has a CommCreate or CommDestroy
  std::vector<bool> handles_without_opening;  ///< by OTF2 id of an IoHandle: somebody used it, and
                                              ///< did not create it
  std::vector<bool> windows_with_events;      ///< the same of RmaWinCreate and RmaWinDestroy

  void note_handle(std::uint32_t handle) { note(handles_without_opening, handle); }

  void note_comm(std::uint32_t comm) { note(comms_with_events, comm); }
  void note_window(std::uint32_t window) { note(windows_with_events, window); }

 private:
  static void note(std::vector<bool>& with_events, std::uint32_t id) {
    if (id >= with_events.size()) with_events.resize(id + std::size_t{1});
    with_events[id] = true;
  }
};

/// Where a nonblocking collective was started on another thread than it completes on: what it was.
/// Reads the process's streams once, when first asked.
class StartedElsewhere {
 public:
  StartedElsewhere(const RecordSource& source, std::int32_t world_rank, const ProcessIds& ids)
      : source_(source), world_rank_(world_rank), ids_(ids) {}
  /// kNone when no start is in the trace.
  CollectiveOp operation(CommId comm, std::uint32_t sequence);

 private:
  void scan();

  const RecordSource& source_;
  std::int32_t world_rank_;
  const ProcessIds& ids_;
  bool is_scanned_ = false;
  std::map<std::pair<CommId, std::uint32_t>, CollectiveOp> operations_;
};

/// What the locations of one process share while its event files are written.
struct ProcessState {
  ProcessState(const RecordSource& source, std::int32_t world_rank, const IdTable& table)
      : ids(source.process(world_rank), source.world_size(), table),
        elsewhere(source, world_rank, ids),
        io(source.process(world_rank), ids.files()),
        rma(source, world_rank) {}

  ProcessIds ids;
  RequestTable requests;
  StartedElsewhere elsewhere;
  ProcessIo io;
  RmaProgress rma;
};

/// The thread a location stands for; kNoTeam for a main thread.
struct ThreadTeam {
  std::uint32_t comm = kNoTeam;  ///< OTF2 id of the process's thread contingent
  std::uint64_t sequence = 0;    ///< number of the thread in it

  static constexpr std::uint32_t kNoTeam = 0xFFFFFFFF;
};

/// Writes the calls of one location as OTF2 events: Enter, what the call did, Leave.
/// Enter and Leave are balanced and properly nested, times do not decrease, whatever the calls'
/// times are. A send, a posted receive and the begin of a collective have the time of the Enter,
/// which saves a time stamp each; what only the return tells has the time of the Leave. Memory: the
/// facts of the calls that are open.
class EventFile {
 public:
  /// writer: open; the caller closes it. All must outlive this object.
  EventFile(OTF2_EvtWriter* writer, ProcessState& process, LocationId location,
            EventSummary& summary);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  /// points: of the same location; nullptr: none. progress: called now and then with the number of
  /// calls since the last time; may be empty. OTF2_SUCCESS, or the first error, after which nothing
  /// of the location is written: its writer is not to be used again.
  OTF2_ErrorCode write(CallStream& calls, PointStream* points, const ThreadTeam& team,
                       const std::function<void(std::uint64_t)>& progress);

 private:
  /// A call that was entered and not left yet, with the facts that its Leave will need.
  struct Frame {
    std::uint64_t leave_ns = 0;
    std::uint32_t region = 0;
    CollectiveOp operation = CollectiveOp::kNone;
    CommId comm = kNoComm;
    std::uint8_t depth = 0;
    bool is_pending = false;
    bool was_left = false;
    bool makes_handle = false;  ///< encloses CommCreate and CommDestroy
    bool is_one_sided = false;  ///< may complete one-sided operations
    std::uint64_t index = 0;    ///< of the location's calls
    std::vector<Fact> facts;
  };

  /// Of the first event of a thread.
  void begin_thread(std::uint64_t time_ns, const ThreadTeam& team);
  void add_points_until(std::uint64_t time_ns, const ThreadTeam& team);
  void add(const Point& point);
  void add_range(const Point& point);
  void leave_before(std::uint64_t time_ns);
  void enter(const Call& call);
  /// Puts what an Enter says beside its region into attributes_; false: nothing.
  bool describe(const Call& call);
  bool describe_place(const Call& call);
  void start(const Fact& fact, Frame& frame);
  void leave();
  void finish(const Fact& fact, const Frame& frame);
  void tell_comm(CommId comm);
  void tell_found(const Fact& fact);
  void tell_value(const Fact& fact, const Frame& frame);
  void finish_one_sided(const Frame& frame);
  void finish_request(const Fact& fact);
  void finish_collective(const Fact& fact);
  void leave_until(const Call& next);
  std::uint64_t advance(std::uint64_t time_ns);

  OTF2_EvtWriter* writer_;
  Calls calls_;  ///< all that this location makes; before the members that refer to it
  ProcessState& process_;
  LocationId location_;
  RmaEvents rma_;
  EventSummary& summary_;
  IoEvents io_;
  OTF2_AttributeList* attributes_;
  bool has_attributes_ = false;
  std::vector<Frame> frames_;  ///< the first `open_count_` are open; the others keep their memory
  std::size_t open_count_ = 0;
  std::uint64_t call_count_ = 0;
  bool has_begun_ = false;
  PointStream* points_ = nullptr;  ///< until its end
  Point point_;                    ///< the next of them
  std::uint64_t now_ns_ = 0;       ///< time of the last event
};

}  // namespace megascope::otf2
