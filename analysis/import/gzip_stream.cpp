#include "analysis/import/gzip_stream.h"

#include <zlib.h>

namespace megascope::importer {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

}  // namespace

GzipBuffer::GzipBuffer(const std::string& path)
    : file_(gzopen(path.c_str(), "rb")), buffer_(kBufferBytes) {}

GzipBuffer::~GzipBuffer() {
  if (file_ != nullptr) gzclose(static_cast<gzFile>(file_));
}

GzipBuffer::int_type GzipBuffer::underflow() {
  if (file_ == nullptr || has_failed_) return traits_type::eof();
  const int read = gzread(static_cast<gzFile>(file_), buffer_.data(),
                          static_cast<unsigned>(buffer_.size()));
  int error = Z_OK;
  if (read <= 0) {
    (void)gzerror(static_cast<gzFile>(file_), &error);
    has_failed_ = read < 0 || error != Z_OK;
    return traits_type::eof();
  }
  setg(buffer_.data(), buffer_.data(), buffer_.data() + read);
  return traits_type::to_int_type(*gptr());
}

}  // namespace megascope::importer
