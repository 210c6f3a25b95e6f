#pragma once

#include "core/base/status.h"
#include "core/encoding/call_encoder.h"
#include "core/record/definitions.h"
#include "core/record/source.h"
#include "core/trace/chunk_store.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::trace {

/// Writes the native trace of one process from calls in memory, for generators, importers and
/// tests. Words and definitions are encoded as in a recording (encode_call.h, definition_codec.h,
/// process_header.h). ProcessInfo describes the clock of the times. One process may write the
/// traces of many processes. One thread at a time. Holds one chunk for each location, and the
/// operations in flight, in memory.
class TraceWriter {
 public:
  /// Creates the file, never over an existing one, with all definitions of the process. Times are
  /// in ticks of its clock.
  Status open(const std::string& path, const ProcessDefinitions& process);
  /// Appends a call of a location. Calls must be in order of entry, with times in ticks and
  /// leave_ns >= enter_ns.
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
    std::vector<Held> enclosing;  ///< outermost first; each waits for the calls inside of it
    encoding::CallEncoder encoder;
    bool is_pending = false;
  };

  Status release_chunk(Location& location);
  Status begin_chunk(Location& location, LocationId id, std::uint64_t ticks);
  Status make_space(Location& location, LocationId id, std::size_t words, std::uint64_t ticks);
  Status write(Location& location, LocationId id, const Held& held);
  Status write_definitions(const ProcessDefinitions& process);
  Status release_down_to(Location& location, LocationId id, std::size_t depth);
  void mark_pending(Location& location, const Call& call);

  std::unique_ptr<ChunkStore> store_;
  std::vector<Location> locations_;
  ProcessInfo info_;
};

/// A synthetic clock of a process, for write_run(): ticks are ns, and `ticks = offset_ns + t * (1 +
/// drift_ppm / 10^6)` at t ns after the start of the run.
struct TraceClock {
  std::int64_t offset_ns = 0;
  double drift_ppm = 0.0;
  std::string domain = "common";       ///< equal for processes that share the clock
  std::int64_t realtime_error_ns = 0;  ///< error of CLOCK_REALTIME on its node
};

/// Writes a whole run as native traces `rank-<r>.mgt` into an existing directory. clocks: by index
/// in world_ranks(); empty: one clock for all. Rounding changes times by less than 1 ns. After an
/// error, files that are already written remain.
Status write_run(const RecordSource& source, const std::string& directory_path,
                 const std::vector<TraceClock>& clocks = {});

}  // namespace megascope::trace
