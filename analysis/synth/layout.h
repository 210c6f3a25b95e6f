#pragma once

#include "analysis/synth/run_spec.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::synth {

/// Roles of a grid's communicators. CommIds are in the order of the roles. Communicators with one
/// member are omitted.
enum class CommRole : std::uint8_t {
  kWorld,     ///< all ranks
  kTensor,    ///< ranks that differ in the tensor coordinate only
  kPipeline,  ///< ranks that differ in the pipeline coordinate only
  kData,      ///< ranks that differ in the data coordinate only
  kModel      ///< ranks with the same data coordinate: one replica
};
inline constexpr std::size_t kCommRoleCount = 5;

struct Coordinates {
  std::int32_t tp = 0;
  std::int32_t pp = 0;
  std::int32_t dp = 0;
};

/// Hosts, grid coordinates and communicators of all ranks. Ranks are numbered as in Megatron-LM:
/// the tensor coordinate changes fastest, then data, then pipeline.
class Layout {
 public:
  explicit Layout(const RunSpec& spec);

  Coordinates coordinates(std::int32_t rank) const;
  std::int32_t rank_of(const Coordinates& at) const {
    return at.tp + spec_.tp * (at.dp + spec_.dp * at.pp);
  }
  std::int32_t host_of(std::int32_t rank) const { return rank / spec_.ranks_per_host; }
  static std::string host_name(std::int32_t host) { return "n" + std::to_string(host); }

  /// Returns the world ranks of the communicator of `rank` with this role, in rank order. The rank
  /// must have such a communicator.
  std::vector<std::int32_t> members(CommRole role, std::int32_t rank) const;
  /// Returns the id of the communicators with this role; kNoComm if they would have one member.
  CommId comm_id(CommRole role) const { return ids_[static_cast<std::size_t>(role)]; }
  std::vector<CommDefinition> definitions(std::int32_t rank) const;

 private:
  RunSpec spec_;
  CommId ids_[kCommRoleCount];
};

}  // namespace megascope::synth
