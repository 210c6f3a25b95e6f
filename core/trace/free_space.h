#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace megascope::trace {

/// Space in a trace file whose chunks were dropped. Adjacent pieces are one. One thread at a time.
/// piece() may throw std::bad_alloc.
class FreeSpace {
 public:
  using Offset = std::uint64_t;
  static constexpr Offset kNone = 0;

  /// Free space that add() takes without allocating.
  using Piece = std::map<Offset, std::uint64_t>::node_type;
  static Piece piece(Offset offset, std::uint64_t bytes);
  void add(Piece node) noexcept;
  /// Returns the first place with so many free bytes; kNone if there is none.
  Offset find(std::uint64_t bytes) const noexcept;
  /// Returns the size of the piece that find() returned.
  std::uint64_t bytes_at(Offset offset) const { return pieces_.at(offset); }
  /// Takes space at the begin of the piece that find() returned. The rest of it stays free.
  void take(Offset offset, std::uint64_t bytes);

 private:
  std::map<Offset, std::uint64_t> pieces_;
};

}  // namespace megascope::trace
