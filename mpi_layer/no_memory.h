#pragma once

#include "core/base/scarce_memory.h"
#include "mpi_layer/thread.h"

namespace megascope::mpi {

/// Runs `work` inside a call of the application. When memory runs out in it, the loss is counted
/// and a default value (no state, no id) is returned: the call goes on and is recorded without what
/// `work` was to find out. Only in functions that are not inlined into wrappers, which have no
/// landing pads.
template <class Work>
auto or_nothing(Work&& work) noexcept -> decltype(work()) {
  return without_throwing(std::forward<Work>(work), [] {
    if (Recorder* const active = recorder()) active->count_loss(LossCause::kNoBuffer);
  });
}

}  // namespace megascope::mpi
