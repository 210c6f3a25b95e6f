#pragma once

#include "core/base/scarce_memory.h"
#include "mpi_layer/calls/thread.h"

namespace megascope::mpi {

/// Runs `work` inside a call of the application. If memory runs out, counts the loss and returns a
/// default value (no state, no id); the call continues and is recorded without the result of
/// `work`. Only in functions that are not inlined into wrappers, which have no landing pads.
template <class Work>
auto or_nothing(Work&& work) noexcept -> decltype(work()) {
  return without_throwing(std::forward<Work>(work), [] {
    if (Recorder* const active = recorder()) active->count_loss(LossCause::kNoBuffer);
  });
}

}  // namespace megascope::mpi
