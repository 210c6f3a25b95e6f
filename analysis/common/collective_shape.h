#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::analysis {

/// What all members of a communicator must say alike in one of its collectives.
struct CollectiveShape {
  std::string_view function;    ///< of the process's definitions; nonblocking ones match their like
                                ///< only. MPI-4.1 §6.12
  std::int32_t root = kNoPeer;  ///< rank in the communicator; kNoPeer: has none, or it is not
                                ///< compared (intercommunicators)
  std::uint64_t bytes = kNotCompared;  ///< of one process's block; of `block_count` of them
  std::int64_t
      block_count = 1;  ///< > 1: in place they are one less, which the record does not tell

  static constexpr std::uint64_t kNotCompared = ~std::uint64_t{0};
  bool operator==(const CollectiveShape&) const = default;
};

/// Of one process's functions: what this analysis needs to know of each.
class FunctionTable {
 public:
  explicit FunctionTable(const ProcessDefinitions& process);

  enum class Use : std::uint8_t { kOther, kWait, kPoll };
  struct Function {
    std::string_view name;
    std::uint64_t name_hash = 0;
    CollectiveOp op = CollectiveOp::kNone;
    bool is_neighbourhood = false;
    bool completes_all = false;  ///< MPI_Waitall, MPI_Testall
    Use use = Use::kOther;  ///< kWait: completes requests; kPoll: the same without waiting, or a
                            ///< probe
  };
  /// Of any id; an unknown one has the name "?".
  const Function& function(RegionId region) const {
    return region < functions_.size() ? functions_[region] : unknown_;
  }

 private:
  std::vector<Function> functions_;
  Function unknown_;
};

/// Do two members' calls fit together?
bool do_match(const CollectiveShape& a, const CollectiveShape& b);

/// Of a collective's fact; of one on a window or file the function alone. Bytes are compared where
/// MPI wants them equal and the record tells them: not of v and w variants, neighbourhoods, scans,
/// MPI_Reduce_scatter, intercommunicators.
CollectiveShape shape_of(const FunctionTable::Function& function, const CommDefinition& comm,
                         const Fact& fact);

/// Equal for equal shapes of equal number.
std::uint64_t hash_of(const FunctionTable::Function& function, const CollectiveShape& shape,
                      std::uint32_t sequence);

}  // namespace megascope::analysis
