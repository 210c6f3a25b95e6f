#pragma once

#include "plugin/tensors/shards.h"

#include <cstdint>
#include <string>

namespace megascope::tensors {

/// The parallel groups that this rank annotated, as of the last update(). One thread at a time.
class OwnLayout {
 public:
  /// Reads the groups that the application annotated. Returns whether they changed since the last
  /// call. If nothing is recorded, does nothing and returns false. Throws std::bad_alloc.
  bool update();
  const Layout& layout() const { return layout_; }
  /// Returns a number that changes each time the layout changes. It is 0 until update() has read a
  /// layout.
  std::uint32_t version() const { return version_; }
  std::uint32_t world_rank() const { return static_cast<std::uint32_t>(layout_.world_rank); }
  bool is_rank_0() const { return layout_.world_rank == 0; }
  /// Returns sum_of_places() for the size of the world.
  std::uint64_t place_total() const { return place_total_; }
  /// Returns this rank's coordinates in the groups as text for the user, e.g. "dp 0, tp 1". Empty
  /// if no group was annotated.
  const std::string& coordinates() const { return coordinates_; }

 private:
  Layout layout_;
  std::uint32_t version_ = 0;  ///< hooks::places_version() + 1
  std::uint64_t place_total_ = 0;
  std::string coordinates_;
};

}  // namespace megascope::tensors
