#pragma once

#include "core/base/status.h"
#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/encode_call.h"
#include "core/record/id_map.h"
#include "core/record/source.h"
#include "core/trace/chunk_store.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::trace {

/// Writes the native trace of one process from calls that are in memory: for generators, importers
/// and tests. The words and definitions are those of a recording (encode_call.h,
/// definition_codec.h, process_header.h), the clock is whatever `info.clock`, `info.clock_domain`
/// and its clock points say. Any number of processes' traces from one process. One thread at a
/// time. Memory: one chunk a location, and what is in flight.
class TraceWriter {
 public:
  /// Makes the file, never over an existing one, with all definitions of the process. Its times are
  /// in ticks of its clock.
  Status open(const std::string& path, const ProcessDefinitions& process);
  /// Appends a call of a location, in order of entry, times in ticks. `leave_ns` is not before
  /// `enter_ns`.
  Status add(LocationId location, const Call& call);
  /// Ends the trace with the process's end_state, end_ticks and last clock point. The object is
  /// then empty.
  Status finish();

 private:
  struct Held {
    Call call;
    std::vector<Fact> facts;
  };
  struct Location {
    ChunkHeader* chunk = nullptr;
    std::uint32_t sequence = 0;
    encoding::Word* cursor = nullptr;
    encoding::Word* limit = nullptr;
    std::uint64_t base_ticks = 0;
    std::vector<Held> enclosing;  ///< outermost first; each waits for those made inside of it
    RequestMap<Fact> open;        ///< what a short completion will be read as
    bool is_pending = false;
  };

  Status release_chunk(Location& location);
  Status begin_chunk(Location& location, LocationId id, std::uint64_t ticks);
  Status make_room(Location& location, LocationId id, std::size_t words, std::uint64_t ticks);
  Status write(Location& location, LocationId id, const Held& held);
  Status write_definitions(const ProcessDefinitions& process);
  Status release_down_to(Location& location, LocationId id, std::size_t depth);
  void mark_pending(Location& location, const Call& call);
  static Fact shortened(Location& location, const Fact& fact);

  std::unique_ptr<ChunkStore> store_;
  std::vector<Location> locations_;
  ProcessInfo info_;
};

/// The clock of a process as write_run() is to fake it: ticks are ns, and `ticks = offset_ns + t ×
/// (1 + drift_ppm / 10⁶)` at t ns after the run's start.
struct TraceClock {
  std::int64_t offset_ns = 0;
  double drift_ppm = 0.0;
  std::string domain = "common";       ///< equal where the clock is shared
  std::int64_t realtime_error_ns = 0;  ///< of CLOCK_REALTIME on its node
};

/// Writes a whole run as native traces `rank-<r>.mgt` into an existing folder. clocks: by index in
/// world_ranks(), or empty: one clock for all. What times get lost by rounding is below 1 ns. On an
/// error earlier files stay.
Status write_run(const RecordSource& source, const std::string& folder,
                 const std::vector<TraceClock>& clocks = {});

}  // namespace megascope::trace
