#pragma once

#include "core/record/point.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace megascope {

/// A tensor that the program shows while it is as it is said to be: valid during the call of
/// TensorSink::take() only.
struct TensorView {
  std::string_view name;
  TensorId id = 0;         ///< of the name, in this process
  std::int64_t step = -1;  ///< the program's own number; -1: in none
  TensorShape shape;       ///< extents: elements along each dimension
  std::array<std::int64_t, kMaxTensorDimensions>
      strides{};               ///< elements from one index to the next; may be 0 or negative
  const void* data = nullptr;  ///< the element with all indices 0; may be unaligned; nullptr only
                               ///< of an empty tensor
  bool is_on_device = false;   ///< `data` is an address of a device
  void* stream = nullptr;      ///< on which the device's copy is ready, in its order
  std::string_view
      split_group;  ///< dimension of the parallel program along which it is split; empty: "tp"
  /// Of the split dimension: how its parts follow each other. {32, 8, 8} of fused Q|K|V with
  /// grouped queries: 32 parts of equal length are queries, then 8 of keys, 8 of values, and each
  /// process has its share of each of the three.
  std::array<std::uint32_t, 4> blocks{};
  std::uint8_t block_count = 0;  ///< 0: the dimension is one block
};

/// A set of kinds, a bit each.
using TensorKinds = std::uint16_t;
constexpr TensorKinds kinds_with(TensorKind kind) {
  return static_cast<TensorKinds>(1U << static_cast<unsigned>(kind));
}
inline constexpr TensorKinds kAllTensorKinds = static_cast<TensorKinds>(
    kinds_with(TensorKind::kCount) - 1);

/// Takes the tensors that a program shows. Made once, set with hooks::set_tensor_sink() before
/// recording begins, never destroyed.
class TensorSink {
 public:
  virtual ~TensorSink() = default;
  /// Tensors of which kinds are looked at that have this name? Asked once a name; the answer is
  /// kept.
  virtual TensorKinds wanted_kinds(std::string_view name) noexcept = 0;
  /// One of a kind that is wanted. Any thread, several at a time, inside the program's call: no
  /// lock that a thread may hold for long, nothing thrown.
  virtual void take(const TensorView& tensor) noexcept = 0;
};

}  // namespace megascope
