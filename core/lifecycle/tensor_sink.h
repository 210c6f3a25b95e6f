#pragma once

#include "core/record/point.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace megascope {

/// A tensor that the application passes. Valid only during TensorSink::take().
struct TensorView {
  std::string_view name;
  TensorId id = 0;         ///< identifier of the name in this process
  std::int64_t step = -1;  ///< the application's step number; -1: none
  TensorShape shape;       ///< extents are in elements
  std::array<std::int64_t, kMaxTensorDimensions>
      strides{};  ///< elements between consecutive indices of each dimension; may be 0 or negative
  const void* data = nullptr;    ///< element with all indices 0; may be unaligned; null only for an
                                 ///< empty tensor
  bool is_on_device = false;     ///< `data` is a device address
  void* stream = nullptr;        ///< device stream on which the data is ready
  std::string_view split_group;  ///< parallel dimension along which it is split; empty: "tp"
  /// Blocks of the split dimension, as relative lengths. Each process holds its part of every
  /// block. Example: a fused Q|K|V matrix with grouped queries has {32, 8, 8}; 32 of 48 equal
  /// lengths are queries, the next 8 are keys and the last 8 are values.
  std::array<std::uint32_t, 4> blocks{};
  std::uint8_t block_count = 0;  ///< 0: one block
};

/// A set of tensor kinds, one bit for each.
using TensorKinds = std::uint16_t;
constexpr TensorKinds kinds_with(TensorKind kind) {
  return static_cast<TensorKinds>(1U << static_cast<unsigned>(kind));
}
inline constexpr TensorKinds kAllTensorKinds = static_cast<TensorKinds>(
    kinds_with(TensorKind::kCount) - 1);

/// Takes the tensors that an application passes. Created once, set with hooks::set_tensor_sink()
/// before recording starts, never destroyed.
class TensorSink {
 public:
  virtual ~TensorSink() = default;
  /// Returns the kinds of tensors with this name that the sink wants. Called once for each name;
  /// the result is stored.
  virtual TensorKinds wanted_kinds(std::string_view name) noexcept = 0;
  /// Takes a tensor of a wanted kind. Called on the application's threads, concurrently. Must not
  /// throw or hold a lock for long.
  virtual void take(const TensorView& tensor) noexcept = 0;
};

/// Takes the tensors that clients of the live view requested. The TensorSink that records tensors
/// in the trace passes them to this sink. Created once, never destroyed.
class CaptureSink : public TensorSink {
 public:
  /// Returns whether statistics of the tensor over all ranks are requested. Called on the same
  /// threads as take().
  virtual bool wants_statistics(const TensorView& tensor) const noexcept = 0;
};

}  // namespace megascope
