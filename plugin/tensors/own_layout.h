#pragma once

#include "plugin/tensors/shards.h"

#include <cstdint>
#include <string>

namespace megascope::tensors {

/// The parallel groups that this rank annotated, as of the last update(). One thread at a time.
class OwnLayout {
 public:
  /// Reads the recorded groups. Returns false if they have not changed, or if nothing is recorded.
  /// Throws std::bad_alloc.
  bool update();
  const Layout& layout() const { return layout_; }
  /// A number that is different for each layout; 0: before the first update().
  std::uint32_t version() const { return version_; }
  std::uint32_t world_rank() const { return static_cast<std::uint32_t>(layout_.world_rank); }
  bool is_rank_0() const { return layout_.world_rank == 0; }
  /// sum_of_places() of the world.
  std::uint64_t place_total() const { return place_total_; }
  /// This rank's coordinates, for the user: "dp 0, tp 1"; empty: none.
  const std::string& coordinates() const { return coordinates_; }

 private:
  Layout layout_;
  std::uint32_t version_ = 0;  ///< hooks::places_version() + 1
  std::uint64_t place_total_ = 0;
  std::string coordinates_;
};

}  // namespace megascope::tensors
