#pragma once

#include "core/base/status.h"
#include "core/record/event_view.h"
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

/// Attributes of events. The value of an enumerator is the id of the attribute in the archive.
enum class EventAttribute : std::uint32_t {
  /// uint8 on a Leave. Value 1: the call had not returned when the trace ended. Value 2: the call
  /// did not return normally (kLeft).
  kUnfinished,
  kMpiError,  ///< int64 on a Leave: the error code that the call returned
  /// uint64 on an Enter: number of consecutive unsuccessful calls that this call represents.
  kCallCount,
  /// String on an Enter: the communicator of the call, if it connects to another world.
  kRemoteWorld,
  kComm,  ///< on a Leave with kFoundSource, kFoundTag and kFoundBytes: the communicator of the
          ///< message
  /// int64 on a Leave: source of the message found by a probe or test; rank in the communicator.
  kFoundSource,
  kFoundTag,    ///< int64 on a Leave: tag of the message found by a probe or test
  kFoundBytes,  ///< uint64 on a Leave: size of the message found by a probe or test
  kRangeStart,  ///< uint64 on an Enter of a zero-duration region: number of the range that starts
  kRangeStop,   ///< uint64 on an Enter of a zero-duration region: number of the range that stops
  /// uint64 on an Enter: time in ns after the Enter within which the call was entered.
  kUncertain,
  kFirstValue,  ///< int64 on a Leave, one for each name in value_fact.h
  /// uint64 on an IoOperationBegin: the explicit offset, in elementary types of the view.
  kFileOffset = kFirstValue + kValueNameCount,
  kCallSite,            ///< string on an Enter: the call site
  kSourceCodeLocation,  ///< on an Enter: source line of the call site, if known
};

/// Facts about the archive that are collected while events are written.
struct EventSummary {
  std::uint64_t last_time_ns = 0;
  bool has_undefined_region = false;
  std::vector<bool> comms_with_events;  ///< by OTF2 id: true if the communicator has a CommCreate
                                        ///< or CommDestroy event
  /// By OTF2 id of an IoHandle: true if a process uses the handle without a creation event.
  std::vector<bool> handles_without_opening;
  /// By OTF2 id: true if the window has an RmaWinCreate or RmaWinDestroy event.
  std::vector<bool> windows_with_events;

  void note_handle(std::uint32_t handle) { note(handles_without_opening, handle); }

  void note_comm(std::uint32_t comm) { note(comms_with_events, comm); }
  void note_window(std::uint32_t window) { note(windows_with_events, window); }

 private:
  static void note(std::vector<bool>& with_events, std::uint32_t id) {
    if (id >= with_events.size()) with_events.resize(id + std::size_t{1});
    with_events[id] = true;
  }
};

/// Finds the operation of a nonblocking collective if one thread starts it and another one
/// completes it. Reads the process's streams once, at the first request.
class StartedElsewhere {
 public:
  StartedElsewhere(const RecordSource& source, std::int32_t world_rank, const ProcessIds& ids)
      : source_(source), world_rank_(world_rank), ids_(ids) {}
  /// Returns the operation; kNone if the start is not in the trace.
  CollectiveOp operation(CommId comm, std::uint32_t sequence);

 private:
  void scan();

  const RecordSource& source_;
  std::int32_t world_rank_;
  const ProcessIds& ids_;
  bool is_scanned_ = false;
  std::map<std::pair<CommId, std::uint32_t>, CollectiveOp> operations_;
};

/// State that the locations of one process share while their event files are written.
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

/// The place of a thread in the thread contingent of its process, as OTF2 defines it. comm is
/// kNoTeam for a main thread.
struct ThreadTeam {
  std::uint32_t comm = kNoTeam;  ///< OTF2 id of the process's thread contingent
  std::uint64_t sequence = 0;    ///< number of the thread in the contingent

  static constexpr std::uint32_t kNoTeam = 0xFFFFFFFF;
};

/// Writes the calls of one location as OTF2 events: Enter, the events of the call, Leave.
///
/// For any input, Enter and Leave are balanced and properly nested and times do not decrease.
/// Sends, posted receives and begins of collectives have the time of the Enter, which saves one
/// timestamp for each of them. Events that are known only at the return of the call have the time
/// of the Leave. Memory: the facts of the open calls.
class EventFile {
 public:
  /// writer: open; closed by the caller. All arguments must outlive this object.
  EventFile(OTF2_EvtWriter* writer, ProcessState& process, LocationId location,
            EventSummary& summary);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  /// Writes all events. points: of the same location; nullptr: none. progress: called periodically
  /// with the number of calls since the last time; may be empty. Returns OTF2_SUCCESS or the first
  /// error; after an error nothing more is written, and the writer must not be used again.
  OTF2_ErrorCode write(CallStream& calls, PointStream* points, const ThreadTeam& team,
                       const std::function<void(std::uint64_t)>& progress);

 private:
  /// An open call, with the facts that its Leave needs.
  struct Frame {
    std::uint64_t leave_ns = 0;
    std::uint32_t region = 0;
    CollectiveOp operation = CollectiveOp::kNone;
    CommId comm = kNoComm;
    std::uint8_t depth = 0;
    bool is_pending = false;
    bool was_left = false;
    bool makes_handle = false;  ///< contains CommCreate or CommDestroy
    bool is_one_sided = false;  ///< may complete one-sided operations
    std::uint64_t index = 0;    ///< index among the location's calls
    std::vector<Fact> facts;
  };

  /// Writes ThreadBegin, before the first event of a thread.
  void begin_thread(std::uint64_t time_ns, const ThreadTeam& team);
  void add_points_until(std::uint64_t time_ns, const ThreadTeam& team);
  void add(const Point& point);
  void add_range(const Point& point);
  void leave_before(std::uint64_t time_ns);
  void enter(const Call& call);
  /// Collects the attributes of an Enter in attributes_. Returns false if there are none.
  bool describe(const Call& call);
  bool describe_call_site(const Call& call);
  void start(const Fact& fact, Frame& frame);
  void start_send(events::Send send);
  void start_collective(events::Collective collective, Frame& frame);
  void leave();
  void finish(const Fact& fact, const Frame& frame);
  void report_comm(CommId comm);
  void report_found(events::Message message);
  void report_value(events::Value value, const Frame& frame);
  void report_error(events::Error error);
  void finish_one_sided(const Frame& frame);
  void finish_receive(events::Receive receive);
  void finish_request(events::Completion completion);
  void finish_collective(events::CollectiveCompletion collective);
  void finish_comm(events::CommChange change, const Frame& frame);
  void test_request(events::RequestUse use);
  void leave_until(const Call& next);
  std::uint64_t advance(std::uint64_t time_ns);

  OTF2_EvtWriter* writer_;
  Calls calls_;  ///< all OTF2 calls of this location; declared before the members that refer to it
  ProcessState& process_;
  LocationId location_;
  RmaEvents rma_;
  EventSummary& summary_;
  IoEvents io_;
  OTF2_AttributeList* attributes_;
  bool has_attributes_ = false;
  std::vector<Frame> frames_;  ///< the first `open_count_` are open; the others are kept for reuse
  std::size_t open_count_ = 0;
  std::uint64_t call_count_ = 0;
  bool has_begun_ = false;
  PointStream* points_ = nullptr;  ///< nullptr after the last point
  Point point_;                    ///< the next point
  std::uint64_t now_ns_ = 0;       ///< time of the last event
};

}  // namespace megascope::otf2
