#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/point.h"
#include "core/record/time_map.h"
#include "core/trace/layout.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace megascope::trace {

/// One process's native trace, read only. Accepts files of running, killed and finished processes,
/// cut short or damaged: what is readable is read, the rest is counted (LossCause::kDamaged). Of a
/// running process: a moment of it, taken by open(). Thread-safe for reading.
class TraceFile {
 public:
  /// Maps a file. An error when it is no trace, or of another version.
  /// A link, FIFO or device is an error.
  static Status open(const std::string& path, std::unique_ptr<TraceFile>& result);
  /// The same of a file in an open directory. A file of another user than the directory's is an
  /// error.
  static Status open(const files::Base& directory, const std::string& name,
                     std::unique_ptr<TraceFile>& result);
  /// The same over bytes in memory, 8-byte aligned, which must outlive the object.
  static Status parse(std::span<const std::byte> bytes, std::unique_ptr<TraceFile>& result);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const ProcessDefinitions& definitions() const { return definitions_; }
  /// For looking up function, file and line. Not while others read.
  std::vector<CallSiteDefinition>& call_sites() { return definitions_.call_sites; }
  /// For saying what the trace does not tell. Not while others read.
  std::vector<ParallelIndex>& parallel() { return definitions_.info.parallel; }
  /// Calls of a location, and the program's regions, in order of entry, times through `map`
  /// (default: ticks).
  std::unique_ptr<CallStream> calls(LocationId location, const TimeMap& map = {}) const;
  /// What the program told of moments; nullptr where it told nothing.
  std::unique_ptr<PointStream> points(LocationId location, const TimeMap& map = {}) const;
  /// Latest time in the trace, in ticks.
  std::uint64_t end_ticks() const { return definitions_.info.end_ticks; }
  /// Bytes that hold something; the file may have room behind them.
  std::size_t used_bytes() const { return used_bytes_; }

  /// What a location was in when the trace ended; false when it was in nothing. Message facts are
  /// as posted.
  bool pending_call(LocationId location, Call& call, std::vector<Fact>& facts) const;

  struct Chunk {
    const ChunkHeader* header = nullptr;
    std::uint32_t sequence = 0;
    std::span<const encoding::Word> words;
  };
  using Chunks = std::vector<Chunk>;
  const Chunks& chunks(LocationId location) const { return locations_[location]; }
  const Chunks& hook_chunks(LocationId location) const { return hooks_[location]; }
  /// The chunk was read and need not stay in memory; who reads it again finds it in the file.
  void release(const Chunk& chunk) const;

 private:
  TraceFile() = default;
  Status read(std::span<const std::byte> bytes);
  void read_header(const FileHeader& header);
  void scan_chunks();
  void add_chunk(const ChunkHeader* header, std::size_t room);
  static void keep_whole_copies(Chunks& chunks);
  bool hold_open_chunk(Chunks& chunks);
  bool hold_open_chunks();
  static Status open_once(const files::Base& directory, const std::string& name,
                          std::unique_ptr<TraceFile>& result);
  void complete_locations();
  std::uint64_t last_hook_ticks(LocationId location) const;
  void find_end();

  std::span<const std::byte> bytes_;
  void* mapping_ = nullptr;
  ProcessDefinitions definitions_;
  std::vector<Chunks> locations_;
  std::vector<Chunks> hooks_;  ///< by location too
  std::vector<std::unique_ptr<encoding::Word[]>>
      held_;  ///< chunks that the process may still write, as they were
  std::uint64_t damaged_count_ = 0;
  std::size_t used_bytes_ = kFileHeaderBytes;
  bool is_one_moment_ = true;  ///< false: the process wrote on while it was read
};

}  // namespace megascope::trace
