#include "exporters/otf2/io_events.h"

#include "exporters/otf2/event_file.h"
#include "exporters/otf2/vocabulary.h"

namespace megascope::otf2 {
namespace {

/// Overlapping operations of a handle need different ids. Requests use their own; ids of blocking
/// operations start here.
constexpr std::uint64_t kFirstBlockingId = std::uint64_t{1} << 32;

OTF2_IoOperationFlag operation_flags(bool is_nonblocking, bool is_collective) {
  unsigned flags = OTF2_IO_OPERATION_FLAG_NONE;
  if (is_nonblocking) flags |= OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
  if (is_collective) flags |= OTF2_IO_OPERATION_FLAG_COLLECTIVE;
  return flags;
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

std::uint32_t IoEvents::handle_of(FileId file) {
  const std::uint32_t handle = process_.ids.handle(file);
  if (handle != ProcessFiles::kUndefined) process_.uses[file].is_used = true;
  return handle;
}

bool IoEvents::has_comm(FileId file) const {
  return process_.definitions.comm(process_.definitions.files[file].comm) != nullptr;
}

/// Numbers a blocking operation. Returns its OTF2 id.
std::uint64_t IoEvents::number(Fact& kept) {
  const RequestId number = process_.blocking_count++;
  set_number(kept, number);
  return kFirstBlockingId + number;
}

void IoEvents::start(events::FileTransfer transfer, Fact& kept, std::uint64_t time_ns,
                     OTF2_AttributeList* list) {
  if (!transfer.is_start()) return;
  const std::uint32_t handle = handle_of(transfer.file());
  if (handle == ProcessFiles::kUndefined) return;
  const FileAccess access = transfer.access();
  const bool has_offset = access.offset != kNoOffset;
  if (has_offset) {
    calls_.make(OTF2_AttributeList_AddUint64, list,
                static_cast<std::uint32_t>(EventAttribute::kFileOffset), access.offset);
  }
  const bool is_nonblocking = transfer.stage() == events::FileTransfer::Stage::kStarted;
  const std::uint64_t id = is_nonblocking ? transfer.request() : number(kept);
  calls_.make(OTF2_EvtWriter_IoOperationBegin, writer_, has_offset ? list : nullptr, time_ns,
              handle,
              transfer.is_write() ? OTF2_IO_OPERATION_MODE_WRITE : OTF2_IO_OPERATION_MODE_READ,
              operation_flags(is_nonblocking, access.is_collective && has_comm(transfer.file())),
              access.requested, id);
}

void IoEvents::start(events::FileUse use, Fact& kept, std::uint64_t time_ns,
                     OTF2_AttributeList* /*list*/) {
  if (use.use() != events::FileUse::Use::kSync) return;
  const std::uint32_t handle = handle_of(use.file());
  if (handle == ProcessFiles::kUndefined) return;
  calls_.make(OTF2_EvtWriter_IoOperationBegin, writer_, nullptr, time_ns, handle,
              OTF2_IO_OPERATION_MODE_FLUSH, operation_flags(false, has_comm(use.file())),
              OTF2_UNDEFINED_UINT64, number(kept));
}

void IoEvents::finish(events::FileTransfer transfer, std::uint64_t time_ns) {
  using Stage = events::FileTransfer::Stage;
  const std::uint32_t handle = handle_of(transfer.file());
  if (handle == ProcessFiles::kUndefined) return;
  const std::uint64_t request = transfer.request();
  switch (transfer.stage()) {
    case Stage::kBlocking:
      return complete(handle, time_ns, transfer.transferred(), kFirstBlockingId + request);
    case Stage::kStarted:
      return calls_.make(OTF2_EvtWriter_IoOperationIssued, writer_, nullptr, time_ns, handle,
                         request);
    case Stage::kCompleted:
      return complete(handle, time_ns, transfer.transferred(), request);
    case Stage::kTested:
      return calls_.make(OTF2_EvtWriter_IoOperationTest, writer_, nullptr, time_ns, handle,
                         request);
    case Stage::kCancelled:
      return calls_.make(OTF2_EvtWriter_IoOperationCancelled, writer_, nullptr, time_ns, handle,
                         request);
  }
}

void IoEvents::finish(events::FileUse use, std::uint64_t time_ns) {
  using Use = events::FileUse::Use;
  if (use.use() == Use::kDeleted) return remove(use.file(), time_ns);
  const std::uint32_t handle = handle_of(use.file());
  if (handle == ProcessFiles::kUndefined) return;
  switch (use.use()) {
    case Use::kOpened:
      return open(use.file(), handle, time_ns);
    case Use::kClosed:
      return close(use.file(), handle, time_ns);
    case Use::kSync:
      return complete(handle, time_ns, OTF2_UNDEFINED_UINT64, kFirstBlockingId + use.request());
    case Use::kSeek:
      return seek(use.seek(), handle, time_ns);
    case Use::kDeleted:
    case Use::kSize:  // no OTF2 event
    case Use::kView:
    case Use::kOther:
      return;
  }
}

void IoEvents::complete(std::uint32_t handle, std::uint64_t time_ns, std::uint64_t bytes,
                        std::uint64_t id) {
  calls_.make(OTF2_EvtWriter_IoOperationComplete, writer_, nullptr, time_ns, handle, bytes, id);
}

void IoEvents::open(FileId file, std::uint32_t handle, std::uint64_t time_ns) {
  process_.uses[file].is_opened = true;
  const std::uint16_t mode = process_.definitions.files[file].mode;
  calls_.make(OTF2_EvtWriter_IoCreateHandle, writer_, nullptr, time_ns, handle,
              otf2_access_mode(mode), otf2_creation_flags(mode), otf2_status_flags(mode));
}

void IoEvents::close(FileId id, std::uint32_t handle, std::uint64_t time_ns) {
  calls_.make(OTF2_EvtWriter_IoDestroyHandle, writer_, nullptr, time_ns, handle);
  const FileDefinition& file = process_.definitions.files[id];
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

void IoEvents::seek(const FileSeek& seek, std::uint32_t handle, std::uint64_t time_ns) {
  calls_.make(OTF2_EvtWriter_IoSeek, writer_, nullptr, time_ns, handle, seek.asked,
              otf2_seek_option(seek.from), seek.reached);
}

}  // namespace megascope::otf2
