#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/clocks/time_map.h"
#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/point.h"
#include "core/trace/layout.h"

#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace megascope::trace {

/// The native trace of one process, read only. Accepts traces of running, killed and finished
/// processes, also truncated and damaged files. Readable records are read; others are counted
/// (LossCause::kDamaged). For a running process it is a snapshot taken by open(). Thread-safe for
/// reading.
class TraceFile {
 public:
  /// Maps a file. Returns an error for a link, FIFO or device, and if it is not a trace or has
  /// another format version.
  static Status open(const std::string& path, std::unique_ptr<TraceFile>& result);
  /// Maps a file in an open directory. Returns the same errors, and one if file and directory have
  /// different owners.
  static Status open(const files::Base& directory, const std::string& name,
                     std::unique_ptr<TraceFile>& result);
  /// Reads a trace from memory. bytes: 8-byte aligned; must outlive the object. Returns an error if
  /// they are not a trace or have another format version.
  static Status parse(std::span<const std::byte> bytes, std::unique_ptr<TraceFile>& result);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Returns the definitions and the losses. A packed chunk with a right checksum that does not
  /// unpack is counted as lost when a stream reads it: read the losses when no stream is in use.
  const ProcessDefinitions& definitions() const { return definitions_; }
  /// Returns the call sites, so that the caller can add function, file and line. No other thread
  /// may read the trace meanwhile.
  std::vector<CallSiteDefinition>& call_sites() { return definitions_.call_sites; }
  /// Returns the grid coordinates, so that the caller can add those that the trace does not have.
  /// No other thread may read the trace meanwhile.
  std::vector<ParallelIndex>& parallel() { return definitions_.info.parallel; }
  /// Returns the calls of a location and its annotated regions in order of entry, with times mapped
  /// by `map` (default: ticks).
  std::unique_ptr<CallStream> calls(LocationId location, const TimeMap& map = {}) const;
  /// Returns the annotations at single moments. The stream is empty if the location's hook records
  /// contain none (only regions); nullptr if it has no hook records.
  std::unique_ptr<PointStream> points(LocationId location, const TimeMap& map = {}) const;
  /// Returns the latest time in the trace, in ticks.
  std::uint64_t end_ticks() const { return definitions_.info.end_ticks; }
  /// Returns the number of bytes in use; the file may have more space.
  std::size_t used_bytes() const { return used_bytes_; }
  /// Returns the number of bytes that would be in use if no chunk were packed.
  std::size_t unpacked_bytes() const;
  std::uint32_t format_version() const { return version_; }

  /// Reads the call that the location's thread had entered and not left when the trace ended.
  /// Returns false if there is no such call. facts: the arguments of the call, with peers and tags
  /// as posted.
  bool pending_call(LocationId location, Call& call, std::vector<Fact>& facts) const;

  struct Chunk {
    const ChunkHeader* header = nullptr;
    std::uint32_t sequence = 0;
    std::size_t word_count = 0;          ///< words of its records, unpacked
    std::span<const std::byte> content;  ///< as stored: words, or packed words
    std::uint64_t base_ticks = 0;
    std::uint64_t checksum = 0;  ///< of a packed chunk
    bool is_packed = false;
    bool may_change = false;  ///< the running process may drop it, and write another one there
  };
  using Chunks = std::vector<Chunk>;
  const Chunks& chunks(LocationId location) const { return locations_[location]; }
  const Chunks& hook_chunks(LocationId location) const { return hooks_[location]; }
  /// Counts a chunk that does not unpack as damage (LossCause::kDamaged), once, unless the running
  /// process has replaced it since. For streams; any thread.
  void note_unreadable(const Chunk& chunk) const;
  /// Drops a chunk from memory after reading. It is read from the file again if needed.
  void release(const Chunk& chunk) const;

 private:
  TraceFile() = default;
  Status read(std::span<const std::byte> bytes);
  void read_header(const FileHeader& header);
  void scan_chunks();
  std::size_t add_chunk(const ChunkHeader* at, std::size_t space);
  void add_records(const Chunk& chunk, const ChunkHeader& header);
  void note_damage();
  /// What a running process changes by recording a call.
  struct Extent {
    std::uint64_t damaged_count = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t end_ticks = 0;

    bool operator==(const Extent&) const = default;
  };
  Extent extent() const { return {damaged_count_, used_bytes_, definitions_.info.end_ticks}; }
  bool is_running() const { return definitions_.info.end_state == EndState::kRunning; }
  void keep_whole_copies(Chunks& chunks);
  bool hold_open_chunk(Chunks& chunks);
  bool hold_open_chunks();
  static Status open_once(const files::Base& directory, const std::string& name,
                          std::unique_ptr<TraceFile>& result);
  void complete_locations();
  std::uint64_t last_hook_ticks(LocationId location) const;
  void find_end();

  std::span<const std::byte> bytes_;
  void* mapping_ = nullptr;
  mutable ProcessDefinitions definitions_;  ///< note_unreadable() changes the losses
  mutable std::mutex unreadable_mutex_;
  mutable std::set<const ChunkHeader*> unreadable_;
  std::vector<Chunks> locations_;
  std::vector<Chunks> hooks_;  ///< by LocationId, as locations_
  std::vector<std::unique_ptr<encoding::Word[]>>
      held_;  ///< snapshots of chunks that the process may still write
  std::uint32_t version_ = 0;
  std::uint64_t damaged_count_ = 0;
  std::size_t used_bytes_ = kFileHeaderBytes;
  bool is_one_moment_ = true;  ///< false: the process wrote to the file while it was read
};

}  // namespace megascope::trace
