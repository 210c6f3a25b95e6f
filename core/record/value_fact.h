#pragma once

#include "core/record/call.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// An argument or result of a call that is not a message, an object or a transfer, as a name and a
/// number. Traces store the number of the name: append only.
namespace megascope {

/// Largest number of elements of an array that are recorded. The elements have consecutive names.
inline constexpr unsigned kMaxDimensions = 6;

enum class ValueName : std::uint8_t {
  kRank,        ///< rank in the communicator or group of the call, or in the one that it created
  kSize,        ///< number of members
  kComparison,  ///< 0 identical, 1 congruent, 2 similar, 3 unequal: MPI_IDENT ... MPI_UNEQUAL
  kColor,
  kKey,         ///< MPI_Comm_split: order of ranks
  kSplitType,   ///< value in mpi.h
  kMessageTag,  ///< tag of the messages that create a communicator
  kLocalLeader,
  kRemoteLeader,
  kHigh,
  kTopology,  ///< 0 none, 1 Cartesian, 2 graph, 3 distributed graph
  kDimensionCount,
  kReorder,
  kDirection,
  kDisplacement,  ///< ranks along the direction
  kSource,        ///< rank in the communicator; negative: none
  kDestination,
  kNodes,
  kEdges,
  kNeighbours,
  kSources,  ///< number of sources
  kDestinations,
  kWeighted,
  kKeyval,  ///< keyval of an attribute
  kFlag,    ///< result of a query: found, or true
  kErrorCode,
  kErrorClass,
  kOffset,  ///< files: in elementary types of the view
  kByteOffset,
  kAccessMode,  ///< value in mpi.h
  kAtomicity,
  kLowerBound,  ///< datatypes: bytes
  kExtent,      ///< bytes
  kTypeBytes,   ///< bytes of data in one element
  kWindowRank,  ///< MPI_Win_shared_query: rank of the memory's owner
  kWindowBytes,
  kDisplacementUnit,
  kProcesses,  ///< processes started, or to be placed
  kDimension,  ///< first of kMaxDimensions names: sizes of the dimensions of a grid
  kPeriodic = kDimension +
              kMaxDimensions,  ///< first of kMaxDimensions names: whether a dimension is periodic
  kCoordinate = kPeriodic +
                kMaxDimensions,  ///< first of kMaxDimensions names: coordinates in a grid
  kRemains = kCoordinate + kMaxDimensions,  ///< first of kMaxDimensions names: MPI_Cart_sub,
                                            ///< whether a dimension is kept
  kStep = kRemains + kMaxDimensions,        ///< the application's number of the step
  kMicroBatch,
  kModelChunk,   ///< model chunk of an interleaved pipeline stage
  kSequence,     ///< number among the operations of its kind in the step
  kLayer,        ///< layer of the whole model, from 0
  kContinued,    ///< 1: the region was entered before this record: in a part of the run that is not
                 ///< recorded, or in an earlier record
  kPayload,      ///< a whole number that the application attaches to a region
  kRealPayload,  ///< as kPayload, as the bits of a binary64
  kCategory,     ///< the application's number of a category
  kArgb,         ///< colour that the application requests for the region
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

/// Returns the name; "value" for a name of a newer version.
constexpr std::string_view value_name(ValueName name) {
  const auto index = static_cast<std::size_t>(name);
  return index < kValueNameCount ? kValueNames[index] : std::string_view("value");
}

constexpr Fact value_fact(ValueName name, std::int64_t value) {
  return {.kind = FactKind::kValue,
          .tag = static_cast<std::int32_t>(name),
          .bytes = static_cast<std::uint64_t>(value)};
}
/// Returns the name of a kValue fact; kCount if this version does not know it.
constexpr ValueName value_name_of(const Fact& fact) {
  const bool is_known = fact.tag >= 0 && fact.tag < static_cast<std::int32_t>(kValueNameCount);
  return is_known ? static_cast<ValueName>(fact.tag) : ValueName::kCount;
}
constexpr std::int64_t value_of(const Fact& fact) { return static_cast<std::int64_t>(fact.bytes); }
/// Returns whether the value must be read by real_value_of().
constexpr bool is_real(ValueName name) { return name == ValueName::kRealPayload; }
constexpr double real_value_of(const Fact& fact) { return std::bit_cast<double>(fact.bytes); }

}  // namespace megascope
