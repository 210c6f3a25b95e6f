#pragma once

#include "core/record/call.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// What a call was given or gave that is no message, no object and no transfer, as a name and a
/// number. A trace holds the number of the name: append only.
namespace megascope {

/// Elements of an array are names in a row, as many as kMaxDimensions; what is beyond them is not
/// told.
inline constexpr unsigned kMaxDimensions = 6;

enum class ValueName : std::uint8_t {
  kRank,        ///< in the communicator or group that the call is about, or in the one that it made
  kSize,        ///< members
  kComparison,  ///< 0 identical, 1 congruent, 2 similar, 3 unequal, as MPI_IDENT … MPI_UNEQUAL
  kColor,
  kKey,         ///< of MPI_Comm_split: the order of ranks
  kSplitType,   ///< as in mpi.h
  kMessageTag,  ///< of the messages that agree on a communicator
  kLocalLeader,
  kRemoteLeader,
  kHigh,
  kTopology,  ///< 0 none, 1 Cartesian, 2 graph, 3 distributed graph
  kDimensionCount,
  kReorder,
  kDirection,
  kDisplacement,  ///< ranks along the direction
  kSource,        ///< rank in the communicator, negative: none
  kDestination,
  kNodes,
  kEdges,
  kNeighbours,
  kSources,  ///< how many
  kDestinations,
  kWeighted,
  kKeyval,  ///< MPI's number of an attribute
  kFlag,    ///< was there one; is it so
  kErrorCode,
  kErrorClass,
  kOffset,  ///< of files, in elementary types of the view
  kByteOffset,
  kAccessMode,  ///< as in mpi.h
  kAtomicity,
  kLowerBound,  ///< of a datatype, bytes
  kExtent,      ///< bytes
  kTypeBytes,   ///< bytes of data in one element
  kWindowRank,  ///< MPI_Win_shared_query: whose memory
  kWindowBytes,
  kDisplacementUnit,
  kProcesses,  ///< started, or to be placed
  kDimension,
  kPeriodic = kDimension + kMaxDimensions,
  kCoordinate = kPeriodic + kMaxDimensions,
  kRemains = kCoordinate + kMaxDimensions,
  kStep = kRemains + kMaxDimensions,  ///< of the program, as it counts them
  kMicroBatch,
  kModelChunk,   ///< of an interleaved pipeline's stage
  kSequence,     ///< among the operations of its kind in the step
  kLayer,        ///< of the whole model, from 0
  kContinued,    ///< 1: the region was entered before, outside of what is recorded, or is a further
                 ///< piece of it
  kPayload,      ///< what the program says of a region; whole
  kRealPayload,  ///< the same as the bits of a binary64
  kCategory,     ///< the program's number of it
  kArgb,         ///< the region's color as the program wants it
  kCount,
};
inline constexpr std::size_t kValueNameCount = static_cast<std::size_t>(ValueName::kCount);

inline constexpr std::array<std::string_view, kValueNameCount> kValueNames{"rank",
                                                                           "members",
                                                                           "comparison",
                                                                           "color",
                                                                           "key",
                                                                           "split_type",
                                                                           "message_tag",
                                                                           "local_leader",
                                                                           "remote_leader",
                                                                           "high",
                                                                           "topology",
                                                                           "dimensions",
                                                                           "reorder",
                                                                           "direction",
                                                                           "displacement",
                                                                           "source_rank",
                                                                           "destination_rank",
                                                                           "nodes",
                                                                           "edges",
                                                                           "neighbours",
                                                                           "sources",
                                                                           "destinations",
                                                                           "weighted",
                                                                           "keyval",
                                                                           "flag",
                                                                           "error_code",
                                                                           "error_class",
                                                                           "view_offset",
                                                                           "byte_offset",
                                                                           "access_mode",
                                                                           "atomicity",
                                                                           "lower_bound",
                                                                           "extent",
                                                                           "type_bytes",
                                                                           "window_rank",
                                                                           "window_bytes",
                                                                           "displacement_unit",
                                                                           "processes",
                                                                           "dimension_0",
                                                                           "dimension_1",
                                                                           "dimension_2",
                                                                           "dimension_3",
                                                                           "dimension_4",
                                                                           "dimension_5",
                                                                           "periodic_0",
                                                                           "periodic_1",
                                                                           "periodic_2",
                                                                           "periodic_3",
                                                                           "periodic_4",
                                                                           "periodic_5",
                                                                           "coordinate_0",
                                                                           "coordinate_1",
                                                                           "coordinate_2",
                                                                           "coordinate_3",
                                                                           "coordinate_4",
                                                                           "coordinate_5",
                                                                           "remains_0",
                                                                           "remains_1",
                                                                           "remains_2",
                                                                           "remains_3",
                                                                           "remains_4",
                                                                           "remains_5",
                                                                           "step",
                                                                           "micro_batch",
                                                                           "model_chunk",
                                                                           "sequence",
                                                                           "layer",
                                                                           "continued",
                                                                           "payload",
                                                                           "real_payload",
                                                                           "category",
                                                                           "argb"};
static_assert(!kValueNames.back().empty());

/// Of names that a newer MegaScope gave: "value".
constexpr std::string_view value_name(ValueName name) {
  const auto index = static_cast<std::size_t>(name);
  return index < kValueNameCount ? kValueNames[index] : std::string_view("value");
}

constexpr Fact value_fact(ValueName name, std::int64_t value) {
  return {.kind = FactKind::kValue,
          .tag = static_cast<std::int32_t>(name),
          .bytes = static_cast<std::uint64_t>(value)};
}
/// Which value a kValue tells; kCount where this MegaScope does not know the name.
constexpr ValueName value_name_of(const Fact& fact) {
  const bool is_known = fact.tag >= 0 && fact.tag < static_cast<std::int32_t>(kValueNameCount);
  return is_known ? static_cast<ValueName>(fact.tag) : ValueName::kCount;
}
constexpr std::int64_t value_of(const Fact& fact) { return static_cast<std::int64_t>(fact.bytes); }
/// Is the value to be read by real_value_of()?
constexpr bool is_real(ValueName name) { return name == ValueName::kRealPayload; }
constexpr double real_value_of(const Fact& fact) { return std::bit_cast<double>(fact.bytes); }

}  // namespace megascope
