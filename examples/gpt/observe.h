/// \file
/// Every place where the program has something to say to whoever watches it. Nobody does yet: these functions are empty and
/// cost nothing. An observer fills them in here and nowhere else; their callers are the ends of what it can know.
#pragma once

#include <mpi.h>

#include <array>
#include <initializer_list>

namespace gpt::observe {

enum class Kind {
  kWeight, kWeightUpdated,
  kGradUnreduced, kGradReduced,  // of this replica, of all replicas
  kActvIn, kActvOut, kActvGradIn, kActvGradOut,
  kExpAvg, kExpAvgSq,
  kInputTokens, kOther
};

constexpr int kMostDimensions = 5;
constexpr int kNotSplit = -1;
constexpr int kNone = -1;  // no layer, no micro-batch

/// A tensor as it lies in this rank's memory: float32 (bytes if input tokens), row-major, contiguous. With --dtype bf16 values
/// are bf16 numbers kept as float32.
/// shape: this rank's part, the first `dimensions` of them; it is the tp rank's part of `split_dimension`, in rank order.
struct Tensor {
  const char* name;
  Kind kind;
  int layer = kNone;  // of the whole model, from 0
  int micro_batch = kNone;
  int dimensions = 0;
  std::array<int, kMostDimensions> shape{};
  int split_dimension = kNotSplit;
  const void* data = nullptr;
  /// Elements from one index of a dimension to the next.
  long stride(int dimension) const {
    long step = 1;
    for (int i = dimensions - 1; i > dimension; --i) step *= shape[static_cast<std::size_t>(i)];
    return step;
  }
};

inline void step_begin(int /*step*/) {}
inline void step_end(int /*step*/) {}

/// Ranks that work together: "dp", "tp", "pp". Collective over `comm`.
inline void group(const char* /*name*/, MPI_Comm /*comm*/) {}

inline void counter(const char* /*name*/, double /*value*/) {}

inline void tensor(const Tensor& /*tensor*/) {}

/// tensor() for what flows through a layer. `split`: the dimension that tp ranks share.
inline void flow(const char* name, Kind kind, int layer, int micro_batch, std::initializer_list<int> shape, int split,
                 const void* data) {
  Tensor one{.name = name, .kind = kind, .layer = layer, .micro_batch = micro_batch, .split_dimension = split, .data = data};
  for (const int extent : shape) one.shape[static_cast<std::size_t>(one.dimensions++)] = extent;
  tensor(one);
}

/// A stretch of time with a name; regions nest. "forward" and "backward" have a micro-batch and a chunk, "layer" has a layer.
class Region {
 public:
  struct About {
    int micro_batch = kNone;
    int chunk = kNone;
    int layer = kNone;
  };
  explicit Region(const char* /*name*/) {}
  Region(const char* /*name*/, const About& /*about*/) {}
  ~Region() {}
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

}  // namespace gpt::observe
