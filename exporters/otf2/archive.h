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

/// Name of the archive: trace.otf2 (anchor), trace.def (global definitions), trace/ (a file pair a
/// location).
inline constexpr const char kArchiveName[] = "trace";

/// Chunks that libotf2 writes into. Each writer has one: it is flushed when full, so that memory
/// does not grow with the trace. Chunks are kept for the next writer.
class ChunkPool {
 public:
  ChunkPool() = default;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;
  ~ChunkPool();

  /// nullptr when the writer has its chunk already, or without memory. holder: the writer's own
  /// pointer.
  void* take(void** holder, std::uint64_t size_bytes);
  /// is_final: the writer will not come back.
  void put_back(void** holder, bool is_final);

 private:
  struct Chunk {
    std::uint64_t size_bytes = 0;
    bool is_taken = false;
    void* memory = nullptr;
  };
  std::vector<Chunk*> free_;
};

/// What libotf2 says goes here instead of stderr, for as long as this object lives. The first error
/// and the last sentence count: the error of a write is returned by no call where libotf2 writes
/// the anchor or closes a file.
class ErrorLog {
 public:
  ErrorLog();
  ErrorLog(const ErrorLog&) = delete;
  ErrorLog& operator=(const ErrorLog&) = delete;
  ~ErrorLog();

  /// "what: reason", with libotf2's own reason where it gave one. An error where the code is one,
  /// or libotf2 said one since this was called last.
  Status status(const std::string& what, OTF2_ErrorCode code);

 private:
  static OTF2_ErrorCode receive(void* self, const char* file, std::uint64_t line,
                                const char* function, OTF2_ErrorCode code, const char* format,
                                std::va_list arguments);

  std::string last_;
  OTF2_ErrorCode first_ = OTF2_SUCCESS;
  OTF2_ErrorCallback previous_ = nullptr;
};

/// An OTF2 archive that all members write together. Every member calls the same functions in the
/// same order: they are collective, except those that name a location. After an error of any member
/// no member calls a further one: libotf2 3.0.2 crashes when an archive is used, or closed, that it
/// could not write. What it holds is then given up: its memory and its open files stay until the
/// process ends. One thread.
class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() = default;

  /// Collective. The folder exists and holds no archive of this name. shown_folder: its name in
  /// messages. definition_chunk_bytes: room for the largest definition, the same on all members.
  Status open(const std::string& folder, const std::string& shown_folder,
              std::uint64_t definition_chunk_bytes, Collective& collective);
  Status open_event_files();
  Status close_event_files();
  Status open_definition_files();
  Status close_definition_files();
  /// Writes the anchor. The last call, also where it fails.
  Status close();

  /// Not collective. Never null on success; one at a time.
  Status open_event_writer(OTF2_LocationRef location, OTF2_EvtWriter*& writer);
  /// event_count: as the reader will find them.
  Status close_event_writer(OTF2_EvtWriter* writer, std::uint64_t& event_count);
  /// An empty file of local definitions: events refer to global ones, but readers ask for the file.
  Status write_local_definitions(OTF2_LocationRef location);

  /// Only on member 0; nullptr is never handed out on success.
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
