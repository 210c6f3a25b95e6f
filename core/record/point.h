#pragma once

#include "core/record/ids.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace megascope {

/// Kind of an annotation at one moment. Append only: the numbers are stored in traces.
enum class PointKind : std::uint8_t {
  kCounter,     ///< a counter has a new value
  kMark,        ///< an instant with a name
  kTensor,      ///< a tensor with its shape
  kRangeStart,  ///< start of a range, which need not nest with regions and which any thread may
                ///< stop
  kRangeStop,   ///< end of a range
};

/// Role of a tensor in a training step. Append only: the numbers are stored in traces and are those
/// of megascope.h.
enum class TensorKind : std::uint8_t {
  kWeight,
  kWeightUpdated,
  kGradUnreduced,
  kGradReduced,
  kActvIn,
  kActvOut,
  kActvGradIn,
  kActvGradOut,
  kExpAvg,
  kExpAvgSq,
  kInputTokens,
  kOther,
  kCount,
};
/// Type of a tensor's elements. Append only, as TensorKind.
enum class ElementType : std::uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kCount,
};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(TensorKind::kCount)>
    kTensorKindNames{"weight",  "weight_updated", "grad_unreduced", "grad_reduced",
                     "actv_in", "actv_out",       "actv_grad_in",   "actv_grad_out",
                     "exp_avg", "exp_avg_sq",     "input_tokens",   "other"};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(ElementType::kCount)>
    kElementTypeNames{"float64", "float32", "float16", "bfloat16", "int8",   "int16",
                      "int32",   "int64",   "uint8",   "uint16",   "uint32", "uint64"};
static_assert(!kTensorKindNames.back().empty() && !kElementTypeNames.back().empty());
inline constexpr unsigned kMaxTensorDimensions = 8;
inline constexpr std::int32_t kNoLayer = -1;       ///< the tensor belongs to no layer
inline constexpr std::int32_t kNoMicroBatch = -1;  ///< the tensor belongs to no micro-batch

/// A tensor as stored in traces: its properties and extents, without elements.
struct TensorShape {
  TensorKind kind = TensorKind::kOther;
  ElementType type = ElementType::kFloat32;
  std::int32_t layer = kNoLayer;
  std::int32_t micro_batch = kNoMicroBatch;
  std::int8_t split_dimension = -1;  ///< dimension that is split among processes; -1: this process
                                     ///< holds the whole tensor
  std::uint8_t dimension_count = 0;
  std::array<std::uint64_t, kMaxTensorDimensions> extents{};

  bool operator==(const TensorShape&) const = default;
};

/// An annotation at one moment. The unit and the clock of its time are those of the object
/// that returns it, as in Call; a RecordSource uses ns since the start of the run.
struct Point {
  std::uint64_t time_ns = 0;
  PointKind kind = PointKind::kMark;
  std::uint32_t id = 0;        ///< CounterId; RegionId of the name of a mark or range; or TensorId
  double value = 0.0;          ///< counters: the new value
  TensorShape tensor = {};     ///< tensors: properties
  std::uint64_t range = 0;     ///< ranges: number of the range, unique in the process
  std::uint64_t start_ns = 0;  ///< kRangeStop: start of the range

  bool operator==(const Point&) const = default;
};

/// Points of one location in order of time. One reader thread.
class PointStream {
 public:
  virtual ~PointStream() = default;
  /// Reads the next Point, that is, the next annotation at one moment. Returns false at the end.
  /// Unreadable records are skipped and counted (LossCause::kDamaged).
  virtual bool next(Point& point) = 0;
};

}  // namespace megascope
