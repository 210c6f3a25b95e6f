#include "mpi_layer/calls/failure.h"

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/semantics/coll.h"
#include "mpi_layer/semantics/io.h"
#include "mpi_layer/semantics/p2p.h"
#include "mpi_layer/semantics/request.h"
#include "mpi_layer/semantics/rma.h"

namespace megascope::mpi {

bool p2p::is_truncation_error(int rc) noexcept { return error_class_of(rc) == MPI_ERR_TRUNCATE; }
bool completion::is_in_status_slow_path(int rc) noexcept {
  return error_class_of(rc) == MPI_ERR_IN_STATUS;
}
bool completion::is_pending_slow_path(int error) noexcept {
  return error_class_of(error) == MPI_ERR_PENDING;
}

FileSeek io::seek_result(MPI_File file, MPI_Offset offset, int whence, bool is_shared) noexcept {
  if (whence == MPI_SEEK_SET) return {offset, SeekFrom::kStart, shown_offset(offset)};
  FileSeek seek{.asked = offset,
                .from = whence == MPI_SEEK_CUR ? SeekFrom::kCurrent : SeekFrom::kEnd};
  MPI_Offset position = 0;
  if (!is_shared && pmpi<Fn::File_get_position>()(file, &position) == MPI_SUCCESS)
    seek.reached = shown_offset(position);
  return seek;
}

bool is_refusal(int rc) noexcept {
  const int error_class = error_class_of(rc);
  for (const int refusal :
       {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_ROOT,
        MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_INFO}) {
    if (error_class == refusal) return true;
  }
  return false;
}

bool one_sided::has_not_begun(int rc) noexcept {
  if (is_refusal(rc)) return true;
  int error_class = 0;
  pmpi<Fn::Error_class>()(rc, &error_class);
  for (const int refusal :
       {MPI_ERR_WIN, MPI_ERR_ASSERT, MPI_ERR_RMA_SYNC, MPI_ERR_RMA_CONFLICT, MPI_ERR_RMA_FLAVOR,
        MPI_ERR_RMA_SHARED, MPI_ERR_SIZE, MPI_ERR_DISP, MPI_ERR_INFO}) {
    if (error_class == refusal) return true;
  }
  return false;
}

void one_sided::end_making(Rec& call, int rc, MPI_Win window, const WindowMaking& making) noexcept {
  const bool is_counted = call.main.kind == FactKind::kWinCreated;
  const std::uint32_t ordinal = call.second.sequence;
  call.second = {};
  if (rc != MPI_SUCCESS) {
    if (!is_counted || !has_not_begun(rc)) return;
    --call.state->window_count;
    --call.state->collective_count;
    return;
  }
  call.main.kind = FactKind::kNone;
  if (call.state == nullptr) return;
  const WinState* state = adopt_window(window, *call.state, ordinal, making);
  if (state == nullptr || state->id == kNoWin) return;
  call.main.kind = FactKind::kWinCreated;
  call.main.tag = window_field(state->id);
  call.main.bytes = making.size_bytes;
}

bool is_refused_slow_path(int rc) noexcept {
  const int error_class = error_class_of(rc);
  return error_class == MPI_ERR_REQUEST || error_class == MPI_ERR_ARG;
}

}  // namespace megascope::mpi
