/// \file
/// The annotations for MegaScope: steps, regions, groups, counters, tensors. Without
/// libmegascope.so each is a no-op.
#pragma once

#include <initializer_list>
#include <megascope/megascope.hpp>
#include <megascope/megascope_mpi.h>

namespace gpt::observe {

constexpr int kNotSplit = -1;
constexpr int kNone = MEGASCOPE_NOWHERE;  // no layer, no micro-batch

// Regions are nested time intervals. "forward" and "backward" have a micro-batch and a chunk,
// "layer" also a layer.
using megascope::Region;
using megascope::Step;
using megascope::Where;
inline const megascope::Name kForward("forward");
inline const megascope::Name kBackward("backward");
inline const megascope::Name kLayer("layer");
inline const megascope::Name kGradientSum("gradient sum");
inline const megascope::Name kOptimizer("optimizer");
inline const megascope::Name kCheckpoint("checkpoint");
inline const megascope::Name kGenerate("generate");

inline const megascope::Counter kLoss("loss");
inline const megascope::Counter kGradientNorm("gradient_norm");

/// Annotates this rank's coordinate in "dp", "tp" or "pp".
inline void group(const char* name, MPI_Comm comm) { megascope_group_comm(name, comm); }

/// Shows a row-major tensor of this rank: float32, or bytes for input tokens. With --dtype bf16 the
/// values are bf16 numbers stored as float32. shape: of this rank's part; `split`: the dimension
/// that tp ranks share, in rank order.
inline void tensor(const char* name, megascope_tensor_kind kind, int layer, int micro_batch,
                   std::initializer_list<std::int64_t> shape, int split, const void* data) {
  const megascope_dtype dtype = kind == MEGASCOPE_INPUT_TOKENS ? MEGASCOPE_UINT8
                                                               : MEGASCOPE_FLOAT32;
  megascope_tensor_view view = megascope::tensor(name, kind, dtype, data, shape.begin(),
                                                 static_cast<int>(shape.size()));
  view.layer = layer;
  view.micro_batch = micro_batch;
  view.is_split = split != kNotSplit ? 1 : 0;
  view.split_dimension = split != kNotSplit ? split : 0;
  megascope_tensor(&view);
}

}  // namespace gpt::observe
