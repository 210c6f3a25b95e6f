#include "mpi_layer/lifecycle/control.h"

#include "mpi_layer/calls/thread.h"
#include "mpi_layer/table/selection.h"

namespace megascope::mpi {
namespace {

Recorder* recorder_of_this_process() noexcept { return is_forked_child() ? nullptr : recorder(); }

}  // namespace

void before_pcontrol(int level) noexcept {
  if (level == 1 && recorder_of_this_process() != nullptr) set_gates(kRecords | kTracking);
}

void after_pcontrol(int level) noexcept {
  Recorder* active = recorder_of_this_process();
  if (active == nullptr) return;
  if (level == 0) {
    active->note_message_gaps();
    set_gates(kTracking);
  }
  if (level == 2) active->flush();
}

}  // namespace megascope::mpi
