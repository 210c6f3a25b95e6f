#pragma once

#include "core/record/definitions.h"
#include "core/record/event_view.h"
#include "core/record/mpi_function.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::analysis {

/// The arguments of one member's collective call that MPI requires to agree among the members
/// (MPI-4.1 §6). Two members' shapes are compared by do_match().
struct CollectiveShape {
  std::string_view
      function;  ///< name in the process's definitions, which own the text. A nonblocking
                 ///< collective does not match its blocking form (MPI-4.1 §6.12)
  std::int32_t root = kNoPeer;  ///< rank of the root in the communicator; kNoPeer: no root, or not
                                ///< compared (intercommunicators)
  std::uint64_t
      bytes = kNotCompared;  ///< bytes of one process's block, or of `block_count` blocks together
  std::int64_t
      block_count = 1;  ///< number of blocks that `bytes` contains. If it is larger than 1, the
                        ///< record of a member that used MPI_IN_PLACE contains one block less.
                        ///< Records do not show whether a member used MPI_IN_PLACE

  static constexpr std::uint64_t kNotCompared = ~std::uint64_t{0};
  bool operator==(const CollectiveShape&) const = default;
};

/// Properties of the functions that one process's trace defines. Copies region names as views: the
/// definitions must outlive the table. O(1) per query.
class FunctionTable {
 public:
  explicit FunctionTable(const ProcessDefinitions& process);

  using Use = MpiFunction::Use;
  struct Function {
    std::string_view name;
    std::uint64_t name_hash = 0;
    CollectiveOp op = CollectiveOp::kNone;
    MpiFunction mpi;
  };
  /// Accepts any id. The function of an unknown id has the name "?".
  const Function& function(RegionId region) const {
    return region < functions_.size() ? functions_[region] : unknown_;
  }

 private:
  std::vector<Function> functions_;
  Function unknown_;
};

/// Returns whether the calls of two members can belong to the same collective: equal function and
/// root, and equal bytes except for a possible MPI_IN_PLACE.
bool do_match(const CollectiveShape& a, const CollectiveShape& b);

/// Returns the shape of a collective. collective: none for collectives on windows and files, which
/// have the function only. `bytes` is kNotCompared where MPI does not require equal sizes or the
/// record does not contain them: v and w variants, neighbourhood collectives, scans,
/// MPI_Reduce_scatter and intercommunicators.
CollectiveShape shape_of(const FunctionTable::Function& function, const CommDefinition& comm,
                         events::Maybe<events::Collective> collective);

/// Hash of a collective, equal for equal shapes with the same sequence number. `block_count` is not
/// part of it.
std::uint64_t hash_of(const FunctionTable::Function& function, const CollectiveShape& shape,
                      std::uint32_t sequence);

}  // namespace megascope::analysis
