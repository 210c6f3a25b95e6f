#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <otf2/otf2.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::otf2 {

/// Name of the archive: trace.otf2 (anchor), trace.def (global definitions), trace/ (two files for
/// each location).
inline constexpr const char kArchiveName[] = "trace";

/// Memory chunks for libotf2's writers. Each writer has one chunk, which is flushed when full, so
/// that memory does not grow with the trace. Chunks are reused by later writers. One thread.
class ChunkPool {
 public:
  ChunkPool() = default;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;
  ~ChunkPool();

  /// Returns a chunk. Returns nullptr if the writer already has one, upon which libotf2 flushes it,
  /// or if memory runs out. holder: the writer's own pointer.
  void* take(void** holder, std::uint64_t size_bytes);
  /// Takes a chunk back. is_final: the writer is closed.
  void put_back(void** holder, bool is_final);

 private:
  struct Chunk {
    std::uint64_t size_bytes = 0;
    bool is_taken = false;
    void* memory = nullptr;
  };
  std::vector<Chunk*> free_;
};

/// Receives the error messages that libotf2 would otherwise write to standard error, for the
/// lifetime of this object. Keeps the first error code and the last message. They are needed
/// because libotf2 returns no error from a call if a write fails while it writes the anchor or
/// closes a file.
class ErrorLog {
 public:
  ErrorLog();
  ErrorLog(const ErrorLog&) = delete;
  ErrorLog& operator=(const ErrorLog&) = delete;
  ~ErrorLog();

  /// Returns "what: reason" with libotf2's message, if `code` is an error or libotf2 reported one
  /// since the last call; else ok.
  Status status(const std::string& what, OTF2_ErrorCode code);

 private:
  static OTF2_ErrorCode receive(void* self, const char* file, std::uint64_t line,
                                const char* function, OTF2_ErrorCode code, const char* format,
                                std::va_list arguments);

  std::string last_;
  OTF2_ErrorCode first_ = OTF2_SUCCESS;
  OTF2_ErrorCallback previous_ = nullptr;
};

/// An OTF2 archive that all members write together. Functions are collective, except those with a
/// location argument: all members must call them in the same order. After an error on any member,
/// no member may call another function, because libotf2 3.0.2 crashes when an archive that it could
/// not write is used or closed. The memory and the open files of the archive then remain until the
/// process ends. One thread.
class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() = default;

  /// Creates the archive. Collective. The directory must exist and hold no archive of this name.
  /// shown_directory: name of the directory in messages. definition_chunk_bytes: size of the
  /// largest definition, the same on all members.
  Status open(const std::string& directory, const std::string& shown_directory,
              std::uint64_t definition_chunk_bytes, Collective& collective);
  Status open_event_files();
  Status close_event_files();
  Status open_definition_files();
  Status close_definition_files();
  /// Writes the anchor. No function may be called after it, even if it fails.
  Status close();

  /// Opens the event file of a location. Not collective. Only one writer may be open at a time.
  /// writer: set on success, and then never nullptr.
  Status open_event_writer(OTF2_LocationRef location, OTF2_EvtWriter*& writer);
  /// Closes the writer. event_count: set to the number of events, as readers count them.
  Status close_event_writer(OTF2_EvtWriter* writer, std::uint64_t& event_count);
  /// Writes an empty file of local definitions. Events refer to global definitions, but readers
  /// expect the file.
  Status write_local_definitions(OTF2_LocationRef location);

  /// Opens the global definitions. Called on member 0 only. writer: set on success, and then never
  /// nullptr.
  Status open_global_definitions(const std::string& creator, const std::string& machine,
                                 OTF2_GlobalDefWriter*& writer);
  Status close_global_definitions(OTF2_GlobalDefWriter* writer);

  ErrorLog& errors() { return errors_; }

 private:
  Status checked(const char* what, OTF2_ErrorCode code);

  OTF2_Archive* handle_ = nullptr;
  std::string path_;
  ChunkPool chunks_;
  ErrorLog errors_;
};

}  // namespace megascope::otf2
