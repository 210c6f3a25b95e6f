#pragma once

#include "core/record/source.h"
#include "core/record/user_regions.h"

#include <memory>
#include <utility>

namespace megascope {

/// The calls of a location without annotated regions. If the process has no MPI calls, the stream
/// returns the annotated regions, because they are its only records.
class MpiCalls final : public CallStream {
 public:
  MpiCalls(const RecordSource& source, std::int32_t world_rank, LocationId location)
      : all_(source.calls(world_rank, location)),
        regions_(source.process(world_rank)),
        passes_over_(regions_.are_beside_mpi()) {}

  bool next(Call& call) override {
    while (all_->next(call)) {
      if (!passes_over_ || !regions_.has(call)) return true;
    }
    return false;
  }

 private:
  std::unique_ptr<CallStream> all_;
  UserRegions regions_;
  bool passes_over_;
};

/// Returns a new stream of the location's MPI calls, from the beginning.
inline std::unique_ptr<CallStream> mpi_calls(const RecordSource& source, std::int32_t world_rank,
                                             LocationId location) {
  if (!UserRegions(source.process(world_rank)).are_beside_mpi())
    return source.calls(world_rank, location);
  return std::make_unique<MpiCalls>(source, world_rank, location);
}

}  // namespace megascope
