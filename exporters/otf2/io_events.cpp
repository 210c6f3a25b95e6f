#include "exporters/otf2/io_events.h"

#include "core/record/file_fact.h"
#include "exporters/otf2/event_file.h"
#include "exporters/otf2/vocabulary.h"

namespace megascope::otf2 {
namespace {

/// Overlapping operations of a handle need different ids. Requests use their own; ids of blocking
/// operations start here.
constexpr std::uint64_t kFirstBlockingId = std::uint64_t{1} << 32;

bool is_nonblocking(FactKind kind) {
  return kind == FactKind::kFileReadRequest || kind == FactKind::kFileWriteRequest;
}

OTF2_IoOperationFlag operation_flags(const Fact& fact, bool has_comm) {
  unsigned flags = OTF2_IO_OPERATION_FLAG_NONE;
  if (is_nonblocking(fact.kind)) flags |= OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
  const bool is_collective = fact.kind == FactKind::kFileSync || access_of(fact).is_collective;
  if (is_collective && has_comm) flags |= OTF2_IO_OPERATION_FLAG_COLLECTIVE;
  return flags;
}

OTF2_IoOperationMode operation_mode(const Fact& fact) {
  if (fact.kind == FactKind::kFileSync) return OTF2_IO_OPERATION_MODE_FLUSH;
  return is_file_write(fact.kind) ? OTF2_IO_OPERATION_MODE_WRITE : OTF2_IO_OPERATION_MODE_READ;
}

}  // namespace

std::vector<std::uint32_t> ProcessIo::handles_without_opening() const {
  std::vector<std::uint32_t> handles;
  for (FileId file = 0; file < uses.size(); ++file) {
    const std::uint32_t handle = ids.handle(file);
    if (uses[file].is_used && !uses[file].is_opened && handle != ProcessFiles::kUndefined)
      handles.push_back(handle);
  }
  return handles;
}

std::uint32_t IoEvents::handle_of(const Fact& fact) {
  const FileId file = file_of(fact);
  const std::uint32_t handle = process_.ids.handle(file);
  if (handle != ProcessFiles::kUndefined) process_.uses[file].is_used = true;
  return handle;
}

void IoEvents::start(Fact& fact, std::uint64_t time_ns, OTF2_AttributeList* list) {
  if (!starts_transfer(fact.kind) && fact.kind != FactKind::kFileSync) return;
  const std::uint32_t handle = handle_of(fact);
  if (handle != ProcessFiles::kUndefined) begin(fact, handle, time_ns, list);
}

void IoEvents::begin(Fact& fact, std::uint32_t handle, std::uint64_t time_ns,
                     OTF2_AttributeList* list) {
  const bool is_sync = fact.kind == FactKind::kFileSync;
  const std::uint64_t offset = is_sync ? kNoOffset : access_of(fact).offset;
  if (offset != kNoOffset) {
    calls_.make(OTF2_AttributeList_AddUint64, list,
                static_cast<std::uint32_t>(EventAttribute::kFileOffset), offset);
  }
  const bool has_comm = process_.definitions.comm(process_.definitions.files[file_of(fact)].comm) !=
                        nullptr;
  if (!is_nonblocking(fact.kind)) fact.request = process_.blocking_count++;
  const std::uint64_t id = is_nonblocking(fact.kind) ? fact.request
                                                     : kFirstBlockingId + fact.request;
  calls_.make(OTF2_EvtWriter_IoOperationBegin, writer_, offset != kNoOffset ? list : nullptr,
              time_ns, handle, operation_mode(fact), operation_flags(fact, has_comm),
              is_sync ? OTF2_UNDEFINED_UINT64 : fact.bytes, id);
}

void IoEvents::finish(const Fact& fact, std::uint64_t time_ns) {
  if (fact.kind == FactKind::kFileDeleted) return remove(file_of(fact), time_ns);
  const std::uint32_t handle = handle_of(fact);
  if (handle == ProcessFiles::kUndefined) return;
  switch (fact.kind) {
    case FactKind::kFileOpened:
      return open(fact, handle, time_ns);
    case FactKind::kFileClosed:
      return close(fact, handle, time_ns);
    case FactKind::kFileRead:
    case FactKind::kFileWrite:
      return complete(handle, time_ns, transferred(fact), kFirstBlockingId + fact.request);
    case FactKind::kFileSync:
      return complete(handle, time_ns, OTF2_UNDEFINED_UINT64, kFirstBlockingId + fact.request);
    case FactKind::kFileSeek:
      return seek(fact, handle, time_ns);
    case FactKind::kFileReadRequest:
    case FactKind::kFileWriteRequest:
      return calls_.make(OTF2_EvtWriter_IoOperationIssued, writer_, nullptr, time_ns, handle,
                         fact.request);
    case FactKind::kFileReadComplete:
    case FactKind::kFileWriteComplete:
      return complete(handle, time_ns, transferred(fact), fact.request);
    case FactKind::kFileTest:
      return calls_.make(OTF2_EvtWriter_IoOperationTest, writer_, nullptr, time_ns, handle,
                         fact.request);
    case FactKind::kFileCancelled:
      return calls_.make(OTF2_EvtWriter_IoOperationCancelled, writer_, nullptr, time_ns, handle,
                         fact.request);
    default:
      return;  // kFileSize, kFileView, kFileUsed: no OTF2 event
  }
}

void IoEvents::complete(std::uint32_t handle, std::uint64_t time_ns, std::uint64_t bytes,
                        std::uint64_t id) {
  calls_.make(OTF2_EvtWriter_IoOperationComplete, writer_, nullptr, time_ns, handle, bytes, id);
}

void IoEvents::open(const Fact& fact, std::uint32_t handle, std::uint64_t time_ns) {
  process_.uses[file_of(fact)].is_opened = true;
  const std::uint16_t mode = process_.definitions.files[file_of(fact)].mode;
  calls_.make(OTF2_EvtWriter_IoCreateHandle, writer_, nullptr, time_ns, handle,
              otf2_access_mode(mode), otf2_creation_flags(mode), otf2_status_flags(mode));
}

void IoEvents::close(const Fact& fact, std::uint32_t handle, std::uint64_t time_ns) {
  calls_.make(OTF2_EvtWriter_IoDestroyHandle, writer_, nullptr, time_ns, handle);
  const FileDefinition& file = process_.definitions.files[file_of(fact)];
  if ((file.mode & kFileModeDeleteOnClose) == 0) return;
  const CommDefinition* comm = process_.definitions.comm(
      file.comm);  // one member of the communicator deletes the file
  if (comm != nullptr && comm->my_rank == 0) remove(file.id, time_ns);
}

void IoEvents::remove(FileId file, std::uint64_t time_ns) {
  const std::uint32_t id = process_.ids.file(file);
  if (id != ProcessFiles::kUndefined)
    calls_.make(OTF2_EvtWriter_IoDeleteFile, writer_, nullptr, time_ns, kMpiIo, id);
}

void IoEvents::seek(const Fact& fact, std::uint32_t handle, std::uint64_t time_ns) {
  const FileSeek seek = seek_of(fact);
  calls_.make(OTF2_EvtWriter_IoSeek, writer_, nullptr, time_ns, handle, seek.asked,
              otf2_seek_option(seek.from), seek.reached);
}

}  // namespace megascope::otf2
