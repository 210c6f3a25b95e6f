#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::timeline {

/// Returns on every member the error of the lowest member that has one, or ok. members: the
/// processes that export together; all of them must call the function.
Status agree(Collective& members, Status mine);

/// Replaces `count` on every member by the sum over all members. All members must call it.
Status add_up(Collective& members, std::uint64_t& count);

/// One file that all members write together. It consists of the parts of all members, in the order
/// of the members; a part may have any size. A part is buffered in memory up to kMemoryBytes, and
/// beyond that in a temporary file in the same directory. The file gets its final name when it is
/// complete. On failure it is removed. An existing file is not overwritten.
///
/// Call order: open, any number of writes, finish. open and finish are collective. After a
/// successful open all members must call finish, with an error if one occurred.
class JointFile {
 public:
  static constexpr std::size_t kMemoryBytes = 8U << 20;

  /// directory: an existing directory on one file system for all members.
  JointFile(Collective& members, std::string directory, const std::string& name);
  JointFile(const JointFile&) = delete;
  JointFile& operator=(const JointFile&) = delete;
  ~JointFile() = default;

  Status open();
  /// Appends to the part that this process writes. The first error is kept and returned by finish.
  void write(std::span<const char> data);
  /// Concatenates the parts and publishes the file. mine: an error of this process, or ok. Returns
  /// on all members the error of the lowest member that has one. size_bytes: on success the size of
  /// the whole file, on all members.
  Status finish(Status mine, std::uint64_t& size_bytes);

 private:
  void spill();
  Status create_own_file();
  Status share_name();
  Status place(std::uint64_t offset_bytes);
  Status place_spilled(int target, std::uint64_t offset_bytes);
  Status offset_of_own_part(std::uint64_t& offset_bytes, std::uint64_t& size_bytes);
  bool is_first() const { return members_.rank() == 0; }

  Collective& members_;
  std::string path_;
  /// Temporary name of the incomplete file, chosen by member 0, which writes its part directly to
  /// it.
  std::string part_path_;
  /// Temporary file with the part of this process if the part exceeds kMemoryBytes. On member 0,
  /// the joint file itself.
  files::FreshFile own_file_;
  bool has_own_file_ = false;
  std::vector<char> pending_;
  std::uint64_t spilled_bytes_ = 0;
  Status status_;
};

}  // namespace megascope::timeline
