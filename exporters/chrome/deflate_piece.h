#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "exporters/common/joint_file.h"

#include <zlib.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace megascope::chrome {

/// One member's part of a gzip file that all members write: their parts behind each other are one
/// deflate stream, so that also readers open it that know files of one gzip member only (browsers
/// do). RFC 1951, RFC 1952.
class DeflatePiece {
 public:
  /// The file must outlive this object. The first member's piece begins with the gzip header.
  DeflatePiece(timeline::JointFile& file, Collective& members);
  DeflatePiece(const DeflatePiece&) = delete;
  DeflatePiece& operator=(const DeflatePiece&) = delete;
  ~DeflatePiece();

  void write(std::string_view text);
  /// No more text from this member. Collective: the last member adds the checksum of everything.
  Status finish();

 private:
  /// Of text: what the gzip trailer says of it.
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
