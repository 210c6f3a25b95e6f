#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::timeline {

/// The error of the lowest member that has one, on all members. Collective.
Status agree(Collective& members, Status mine);

/// Sum over all members, on all members. Collective.
Status add_up(Collective& members, std::uint64_t& count);

/// One file that all members write together: the pieces of member 0, 1, 2 … behind each other, each
/// as long as its member makes it. A piece goes through memory, and from kMemoryBytes on through a
/// file beside; the file has its final name only when it is whole, and nothing is left of it
/// otherwise. An existing file is not overwritten.
///
/// Call order: open, any number of writes, finish; open and finish are collective, and finish is
/// called on all members once open has succeeded, with an error if there was one.
class JointFile {
 public:
  static constexpr std::size_t kMemoryBytes = 8U << 20;

  /// folder: existing, the same file system for all members.
  JointFile(Collective& members, std::string folder, const std::string& name);
  JointFile(const JointFile&) = delete;
  JointFile& operator=(const JointFile&) = delete;
  ~JointFile() = default;

  Status open();
  /// Appends to this member's piece. Errors stick and are told by finish.
  void write(std::span<const char> data);
  /// Puts the pieces together. mine: what went wrong on this member. size_bytes: of the whole file,
  /// on all members.
  Status finish(Status mine, std::uint64_t& size_bytes);

 private:
  void spill();
  Status create_piece();
  Status share_name();
  Status place(std::uint64_t offset_bytes);
  Status place_spilled(int target, std::uint64_t offset_bytes);
  Status offset_of_piece(std::uint64_t& offset_bytes, std::uint64_t& size_bytes);
  bool is_first() const { return members_.rank() == 0; }

  Collective& members_;
  std::string path_;
  std::string part_path_;   ///< the file until it is whole, a fresh name that member 0 has chosen;
                            ///< it writes its piece right into it
  files::FreshFile piece_;  ///< where this member's piece goes when it outgrows memory; of member
                            ///< 0: the file itself
  bool has_piece_ = false;
  std::vector<char> pending_;
  std::uint64_t spilled_bytes_ = 0;
  Status status_;
};

}  // namespace megascope::timeline
