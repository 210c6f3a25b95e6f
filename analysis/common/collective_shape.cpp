#include "analysis/common/collective_shape.h"

#include "core/base/hash.h"
#include "core/record/collective_op.h"

namespace megascope::analysis {
namespace {

std::uint64_t hash_of_text(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = combined(hash, static_cast<unsigned char>(c));
  return hash;
}

/// Size of one process's block in a rooted collective. Non-root members record one block (`own`).
/// The root records its own block as `own` and the blocks of all members as `many`; in place, `own`
/// is 0 and `many` lacks its block.
std::uint64_t one_block(bool is_root, std::uint64_t own, std::uint64_t many, std::int64_t size) {
  if (!is_root || own != 0 || size < 2) return own;
  return many / static_cast<std::uint64_t>(size - 1);
}

std::uint64_t bytes_of(CollectiveOp op, events::Collective collective, bool is_root,
                       std::int64_t size) {
  switch (op) {
    case CollectiveOp::kBcast:
      return collective.bytes_received();
    case CollectiveOp::kScatter:
      return one_block(is_root, collective.bytes_received(), collective.bytes_sent(), size);
    case CollectiveOp::kGather:
    case CollectiveOp::kReduce:
      return one_block(is_root, collective.bytes_sent(), collective.bytes_received(), size);
    default:
      return counts_all_members(op) ? collective.bytes_received() : CollectiveShape::kNotCompared;
  }
}

}  // namespace

FunctionTable::FunctionTable(const ProcessDefinitions& process) {
  unknown_.name = "?";
  for (const RegionDefinition& region : process.regions) {
    if (region.id >= functions_.size()) functions_.resize(std::size_t{region.id} + 1, unknown_);
    Function& function = functions_[region.id];
    function.name = region.name;
    function.name_hash = hash_of_text(region.name);
    function.op = region.collective_op;
    function.mpi = mpi_function(region.name);
  }
}

CollectiveShape shape_of(const FunctionTable::Function& function, const CommDefinition& comm,
                         events::Maybe<events::Collective> collective) {
  CollectiveShape shape{.function = function.name};
  if (comm.kind == CommKind::kInter || !collective) return shape;
  shape.root = collective->root();
  const std::int64_t size = rank_count(comm.members);
  if (!function.mpi.is_neighbourhood && size > 1) {
    shape.bytes = bytes_of(function.op, *collective, shape.root == comm.my_rank, size);
    if (counts_all_members(function.op)) shape.block_count = size;
  }
  return shape;
}

bool do_match(const CollectiveShape& a, const CollectiveShape& b) {
  if (a.function != b.function || a.root != b.root) return false;
  if (a.bytes == b.bytes || a.block_count < 2) return a.bytes == b.bytes;
  const auto all = static_cast<std::uint64_t>(a.block_count);
  return a.bytes * (all - 1) == b.bytes * all || a.bytes * all == b.bytes * (all - 1);
}

std::uint64_t hash_of(const FunctionTable::Function& function, const CollectiveShape& shape,
                      std::uint32_t sequence) {
  const auto root = static_cast<std::uint32_t>(shape.root);
  return combined(combined(function.name_hash, std::uint64_t{sequence} << 32 | root), shape.bytes);
}

}  // namespace megascope::analysis
