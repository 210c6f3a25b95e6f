#pragma once

#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace megascope::importer {

/// Stream buffer that reads a plain or gzip-compressed file. If the compressed data is damaged, the
/// stream ends early and has_failed() is true.
class GzipBuffer final : public std::streambuf {
 public:
  explicit GzipBuffer(const std::string& path);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

  bool is_open() const { return file_ != nullptr; }
  bool has_failed() const { return has_failed_; }

 protected:
  int_type underflow() override;

 private:
  void* file_ = nullptr;  ///< gzFile
  bool has_failed_ = false;
  std::vector<char> buffer_;
};

}  // namespace megascope::importer
