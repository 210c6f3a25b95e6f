#include "plugin/tensors/own_layout.h"

#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"

namespace megascope::tensors {

bool OwnLayout::update() {
  const std::uint32_t version = hooks::places_version() + 1;
  Recorder* const recorder = hooks::recorder();
  if (version == version_ || recorder == nullptr) return false;
  const ProcessInfo info = recorder->info();
  layout_ = Layout::of(info.parallel, info.world_rank, info.world_size);
  version_ = version;
  place_total_ = sum_of_places(layout_.world_size);
  coordinates_.clear();
  for (const ParallelIndex& dimension : info.parallel)
    coordinates_ += (coordinates_.empty() ? "" : ", ") + dimension.name + " " +
                    std::to_string(dimension.index);
  return true;
}

}  // namespace megascope::tensors
