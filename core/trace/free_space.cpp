#include "core/trace/free_space.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace megascope::trace {

FreeSpace::Piece FreeSpace::piece(Offset offset, std::uint64_t bytes) {
  std::map<Offset, std::uint64_t> one{{offset, bytes}};
  return one.extract(one.begin());
}

void FreeSpace::add(Piece node) noexcept {
  auto piece = pieces_.insert(std::move(node)).position;
  const auto next = std::next(piece);
  if (next != pieces_.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    pieces_.erase(next);
  }
  if (piece == pieces_.begin()) return;
  const auto before = std::prev(piece);
  if (before->first + before->second != piece->first) return;
  before->second += piece->second;
  pieces_.erase(piece);
}

FreeSpace::Offset FreeSpace::find(std::uint64_t bytes) const noexcept {
  const auto found = std::ranges::find_if(pieces_,
                                          [&](const auto& piece) { return piece.second >= bytes; });
  return found == pieces_.end() ? kNone : found->first;
}

void FreeSpace::take(Offset offset, std::uint64_t bytes) {
  auto node = pieces_.extract(offset);  // the node is used again: nothing is allocated
  if (node.mapped() == bytes) return;
  node.key() += bytes;
  node.mapped() -= bytes;
  pieces_.insert(std::move(node));
}

}  // namespace megascope::trace
