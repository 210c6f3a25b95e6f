#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "exporters/common/joint_file.h"

#include <zlib.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace megascope::chrome {

/// The part of one process in a gzip file that the processes of an export (`members`) write
/// together. The parts together are one deflate stream, so that readers that support only one gzip
/// member (browsers) can read the file. RFC 1951, RFC 1952. One thread.
class DeflatePart {
 public:
  /// file must outlive this object. The first member's part begins with the gzip header.
  DeflatePart(timeline::JointFile& file, Collective& members);
  DeflatePart(const DeflatePart&) = delete;
  DeflatePart& operator=(const DeflatePart&) = delete;
  ~DeflatePart();

  void write(std::string_view text);
  /// Ends the part of this process. All members must call it: the last one appends the checksum of
  /// the whole file.
  Status finish();

 private:
  /// Checksum and size of a text, as in the gzip trailer.
  struct Checksum {
    std::uint64_t crc = 0;
    std::uint64_t size_bytes = 0;
  };

  void run(std::string_view text, int flush);
  bool is_last() const { return members_.rank() == members_.size() - 1; }

  timeline::JointFile& file_;
  Collective& members_;
  z_stream stream_{};
  Status status_;
  Checksum checksum_;
  std::vector<char> out_;
};

}  // namespace megascope::chrome
