#include "exporters/otf2/archive.h"

#include "exporters/otf2/calls.h"
#include "exporters/otf2/collective_callbacks.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace megascope::otf2 {
namespace {

// Fits into the cache; libotf2 rejects smaller chunks.
constexpr std::uint64_t kEventChunkBytes = 256 * 1024;

OTF2_FlushType always_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}

// Without a post-flush callback libotf2 writes no BufferFlush record, which is right because the
// application did not wait for this flush.
constexpr OTF2_FlushCallbacks kFlushCallbacks = {.otf2_pre_flush = always_flush,
                                                 .otf2_post_flush = nullptr};

void* allocate_chunk(void* pool, OTF2_FileType, OTF2_LocationRef, void** holder,
                     std::uint64_t size_bytes) {
  return static_cast<ChunkPool*>(pool)->take(holder, size_bytes);
}

void free_chunks(void* pool, OTF2_FileType, OTF2_LocationRef, void** holder, bool is_final) {
  static_cast<ChunkPool*>(pool)->put_back(holder, is_final);
}

constexpr OTF2_MemoryCallbacks kMemoryCallbacks = {.otf2_allocate = allocate_chunk,
                                                   .otf2_free_all = free_chunks};

}  // namespace

ChunkPool::~ChunkPool() {
  for (Chunk* chunk : free_) {
    std::free(chunk->memory);
    delete chunk;
  }
}

void* ChunkPool::take(void** holder, std::uint64_t size_bytes) {
  auto* chunk = static_cast<Chunk*>(*holder);
  if (chunk == nullptr) {
    for (std::size_t i = 0; i < free_.size() && chunk == nullptr; ++i) {
      if (free_[i]->size_bytes != size_bytes) continue;
      chunk = free_[i];
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (chunk == nullptr) {
    chunk = new (std::nothrow)
        Chunk{.size_bytes = size_bytes, .is_taken = false, .memory = std::malloc(size_bytes)};
  }
  if (chunk == nullptr) return nullptr;
  *holder = chunk;
  if (chunk->is_taken) return nullptr;  // makes libotf2 flush and ask again
  chunk->is_taken = true;
  return chunk->memory;
}

void ChunkPool::put_back(void** holder, bool is_final) {
  auto* chunk = static_cast<Chunk*>(*holder);
  if (chunk == nullptr) return;
  chunk->is_taken = false;
  if (!is_final) return;
  free_.push_back(chunk);
  *holder = nullptr;
}

ErrorLog::ErrorLog() : previous_(OTF2_Error_RegisterCallback(receive, this)) {}

ErrorLog::~ErrorLog() { OTF2_Error_RegisterCallback(previous_, nullptr); }

OTF2_ErrorCode ErrorLog::receive(void* self, const char*, std::uint64_t, const char*,
                                 OTF2_ErrorCode code, const char* format, std::va_list arguments) {
  char text[512] = "";
  if (format != nullptr) std::vsnprintf(text, sizeof text, format, arguments);
  auto& log = *static_cast<ErrorLog*>(self);
  log.last_ = text;
  if (code > OTF2_SUCCESS && log.first_ == OTF2_SUCCESS)
    log.first_ = code;  // higher codes are warnings
  return code;
}

Status ErrorLog::status(const std::string& what, OTF2_ErrorCode code) {
  if (first_ != OTF2_SUCCESS)
    // The cause. What the call returns only says that there was an error, or nothing in the case of
    // the anchor.
    code = first_;
  if (code == OTF2_SUCCESS) return Status::ok();
  std::string message = what + ": " + OTF2_Error_GetDescription(code);
  if (!last_.empty()) message += " (" + last_ + ")";
  last_.clear();
  first_ = OTF2_SUCCESS;
  return Status::error(std::move(message));
}

Status Archive::checked(const char* what, OTF2_ErrorCode code) {
  return errors_.status(path_ + ": " + what, code);
}

Status Archive::open(const std::string& directory, const std::string& shown_directory,
                     std::uint64_t definition_chunk_bytes, Collective& members) {
  path_ = shown_directory + "/" + kArchiveName + ".otf2";
  handle_ = OTF2_Archive_Open(directory.c_str(), kArchiveName, OTF2_FILEMODE_WRITE,
                              kEventChunkBytes, definition_chunk_bytes, OTF2_SUBSTRATE_POSIX,
                              OTF2_COMPRESSION_NONE);
  if (handle_ == nullptr) return checked("cannot be opened", OTF2_ERROR_INVALID);
  Calls calls;
  calls.make(OTF2_Archive_SetFlushCallbacks, handle_, &kFlushCallbacks, nullptr);
  calls.make(OTF2_Archive_SetMemoryCallbacks, handle_, &kMemoryCallbacks, &chunks_);
  calls.make(OTF2_Archive_SetCollectiveCallbacks, handle_, &collective_callbacks(), nullptr,
             context(members), nullptr);
  return checked("cannot be created", calls.error());
}

Status Archive::open_event_files() {
  return checked("event files", OTF2_Archive_OpenEvtFiles(handle_));
}
Status Archive::close_event_files() {
  return checked("event files", OTF2_Archive_CloseEvtFiles(handle_));
}
Status Archive::open_definition_files() {
  return checked("definition files", OTF2_Archive_OpenDefFiles(handle_));
}
Status Archive::close_definition_files() {
  return checked("definition files", OTF2_Archive_CloseDefFiles(handle_));
}

Status Archive::close() {
  return checked("cannot be closed", OTF2_Archive_Close(std::exchange(handle_, nullptr)));
}

Status Archive::open_event_writer(OTF2_LocationRef location, OTF2_EvtWriter*& writer) {
  writer = OTF2_Archive_GetEvtWriter(handle_, location);
  return writer != nullptr ? Status::ok() : checked("event writer", OTF2_ERROR_INVALID);
}

Status Archive::close_event_writer(OTF2_EvtWriter* writer, std::uint64_t& event_count) {
  Calls calls;
  calls.make(OTF2_EvtWriter_GetNumberOfEvents, writer, &event_count);
  calls.make(OTF2_Archive_CloseEvtWriter, handle_, writer);
  return checked("events", calls.error());
}

Status Archive::write_local_definitions(OTF2_LocationRef location) {
  OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(handle_, location);
  if (writer == nullptr) return checked("local definitions", OTF2_ERROR_INVALID);
  return checked("local definitions", OTF2_Archive_CloseDefWriter(handle_, writer));
}

Status Archive::open_global_definitions(const std::string& creator, const std::string& machine,
                                        OTF2_GlobalDefWriter*& writer) {
  Calls calls;
  calls.make(OTF2_Archive_SetCreator, handle_, creator.c_str());
  calls.make(OTF2_Archive_SetMachineName, handle_, machine.c_str());
  Status status = checked("creator and machine name", calls.error());
  if (!status.is_ok()) return status;
  writer = OTF2_Archive_GetGlobalDefWriter(handle_);
  return writer != nullptr ? status : checked("global definitions", OTF2_ERROR_INVALID);
}

Status Archive::close_global_definitions(OTF2_GlobalDefWriter* writer) {
  return checked("global definitions", OTF2_Archive_CloseGlobalDefWriter(handle_, writer));
}

}  // namespace megascope::otf2
