#include "core/record/file_fact.h"
#include "core/record/value_fact.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

// Facts of tracked requests: start, test, completion, cancellation.
namespace megascope::mpi {

void make_persistent(MpiThread& thread, MPI_Request request, Fact start) noexcept {
  RequestEntry* entry = requests().insert(key_of(request));
  if (entry == nullptr) return;
  start.request = entry->serial;
  entry->start = start;
  entry->is_persistent = true;
  entry->is_active = false;
  if (start.kind == FactKind::kNone) return;
  start.kind = FactKind::kPersistentInit;
  stage(thread, start);
}

void start_persistent(MpiThread& thread, MPI_Request request) noexcept {
  RequestEntry* entry = requests().find(key_of(request), requests().horizon(),
                                        thread.buffer->location());
  if (entry == nullptr || !entry->is_persistent) return;
  entry->start.request = requests().new_id();
  entry->is_active = true;
  entry->location = thread.buffer->location();
  if (entry->start.kind != FactKind::kNone) stage(thread, entry->start);
}

namespace {

bool is_truncation(int error) noexcept {
  if (error == MPI_SUCCESS) return false;
  int error_class = 0;
  pmpi<Fn::Error_class>()(error, &error_class);
  return error_class == MPI_ERR_TRUNCATE;
}

void stage_receive(MpiThread& thread, const RequestEntry& entry, const MPI_Status* status,
                   bool is_truncated) noexcept {
  Fact done = entry.start;
  done.kind = FactKind::kRecvComplete;
  if (status == nullptr) {
    if (Recorder* active = recorder()) active->count_loss(LossCause::kSizeUnknown);
    if (done.peer == kAnySource || done.tag == kAnyTag)
      done = {.kind = FactKind::kRequestFreed, .request = done.request};
  } else {
    done.peer = status->MPI_SOURCE;
    done.tag = status->MPI_TAG;
    done.bytes = is_truncated ? truncated_bytes(*status, done.bytes) : received_bytes(*status);
    if (done.peer == MPI_PROC_NULL) return;
  }
  const bool is_as_posted = done.peer == entry.start.peer && done.tag == entry.start.tag &&
                            done.bytes == entry.start.bytes &&
                            entry.location == thread.buffer->location() &&
                            !thread.buffer->is_lossy();
  if (is_as_posted) {
    stage_short(thread, FactKind::kRecvComplete, done.request);
  } else {
    stage(thread, done);
  }
}

void stage_collective(MpiThread& thread, const RequestEntry& entry) noexcept {
  Fact done = entry.start;
  done.kind = FactKind::kCollectiveComplete;
  const bool is_known = entry.location == thread.buffer->location() && !thread.buffer->is_lossy();
  if (is_known) {
    stage_short(thread, FactKind::kCollectiveComplete, done.request);
  } else {
    stage(thread, done);
  }
}

bool is_transfer(FactKind kind) noexcept {
  return kind == FactKind::kFileReadRequest || kind == FactKind::kFileWriteRequest;
}

/// Records an event of a request; with the file of a transfer, the window of a one-sided operation.
void stage_event(MpiThread& thread, const Fact& start, FactKind kind) noexcept {
  Fact fact = is_file_fact(kind) ? file_fact(kind, file_of(start), start.comm) : Fact{.kind = kind};
  if (has_rma_request(start.kind)) {
    fact.comm = start.comm;
    fact.tag = start.tag;
  }
  fact.request = start.request;
  stage(thread, fact);
}

}  // namespace

void stage_transferred(MpiThread& thread, const Fact& start, LocationId location,
                       const MPI_Status* status) noexcept {
  Fact done = start;
  done.kind = is_file_write(start.kind) ? FactKind::kFileWriteComplete
                                        : FactKind::kFileReadComplete;
  if (status != nullptr) {
    set_transferred(done, received_bytes(*status));
  } else if (Recorder* active = recorder()) {
    active->count_loss(LossCause::kSizeUnknown);
  }
  const bool is_as_asked = done.bytes_received == 0 && location == thread.buffer->location() &&
                           !thread.buffer->is_lossy();
  if (is_as_asked) {
    stage_short(thread, done.kind, done.request);
  } else {
    stage(thread, done);
  }
}

void complete_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                      const MPI_Status* status, int error) noexcept {
  RequestEntry* entry = requests().take(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr || !entry->is_active) return;
  const FactKind kind = entry->start.kind;
  const bool is_message = error == MPI_SUCCESS ||
                          (kind == FactKind::kRecvRequest && is_truncation(error));
  const bool was_cancelled = entry->is_cancel_requested.load(std::memory_order_relaxed) &&
                             status != nullptr && is_cancelled(*status);
  if (kind == FactKind::kNone) {
  } else if (was_cancelled) {
    stage_event(thread, entry->start,
                is_transfer(kind) ? FactKind::kFileCancelled : FactKind::kCancelled);
  } else if (!is_message) {
    stage(thread, {.kind = FactKind::kRequestFreed, .request = entry->start.request});
  } else if (kind == FactKind::kSendRequest) {
    stage_short(thread, FactKind::kSendComplete, entry->start.request);
  } else if (kind == FactKind::kRecvRequest) {
    stage_receive(thread, *entry, status, error != MPI_SUCCESS);
  } else if (kind == FactKind::kCollectiveRequest) {
    stage_collective(thread, *entry);
  } else if (is_transfer(kind)) {
    stage_transferred(thread, entry->start, entry->location, status);
  } else if (has_rma_request(kind)) {
    stage_short(thread, FactKind::kRmaComplete, entry->start.request);
  }
  if (entry->is_persistent) {
    entry->is_cancel_requested.store(false, std::memory_order_relaxed);
    entry->is_active = false;
  } else {
    requests().give_back(entry);
  }
}

void note_test(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept {
  const RequestEntry* entry = requests().find(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr || entry->start.kind == FactKind::kNone || !entry->is_active) return;
  stage_event(thread, entry->start,
              is_transfer(entry->start.kind) ? FactKind::kFileTest : FactKind::kRequestTest);
}

void note_ready(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon,
                const MPI_Status& status) noexcept {
  const RequestEntry* entry = requests().find(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr || entry->start.kind == FactKind::kNone || !entry->is_active) {
    stage(thread, value_fact(ValueName::kFlag, 1));
    return;
  }
  Fact fact{.kind = FactKind::kRequestReady, .request = entry->start.request};
  if (entry->start.kind == FactKind::kRecvRequest && !is_cancelled(status) &&
      status.MPI_SOURCE != MPI_PROC_NULL) {
    fact.comm = entry->start.comm;
    fact.peer = status.MPI_SOURCE;
    fact.tag = status.MPI_TAG;
    fact.bytes = received_bytes(status);
  }
  stage(thread, fact);
}

RequestId note_cancel(MpiThread& thread, MPI_Request request) noexcept {
  RequestEntry* entry = requests().find(key_of(request), requests().horizon(),
                                        thread.buffer->location());
  if (entry == nullptr) return kNoRequest;
  entry->is_cancel_requested.store(true, std::memory_order_relaxed);
  return entry->start.kind != FactKind::kNone ? entry->start.request : kNoRequest;
}

void free_request(MpiThread& thread, MPI_Request request, RequestTable::Serial horizon) noexcept {
  RequestEntry* entry = requests().find(key_of(request), horizon, thread.buffer->location());
  if (entry == nullptr) return;
  if (entry->is_active && entry->start.kind != FactKind::kNone) {
    stage(thread, {.kind = FactKind::kRequestFreed, .request = entry->start.request});
  }
  requests().erase(entry);
}

}  // namespace megascope::mpi
