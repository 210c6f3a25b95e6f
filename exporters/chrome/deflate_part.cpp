#include "exporters/chrome/deflate_part.h"

#include <array>
#include <cstring>
#include <limits>
#include <span>

namespace megascope::chrome {
namespace {

constexpr int kLevel = 3;  // twice as fast as zlib's default, for 10 % more bytes
constexpr int kRawDeflate = -15;
constexpr int kMemoryLevel = 8;
constexpr std::size_t kOutBytes = 128 * 1024;
// Magic, deflate, no flags, no time, no hint, Unix.
constexpr std::array<char, 10> kHeader{'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, 3};

std::array<char, 8> trailer(std::uint64_t crc, std::uint64_t size_bytes) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[i] = static_cast<char>(crc >> (8 * i) & 0xFF);
    bytes[i + 4] = static_cast<char>(size_bytes >> (8 * i) & 0xFF);
  }
  return bytes;
}

}  // namespace

DeflatePart::DeflatePart(timeline::JointFile& file, Collective& members)
    : file_(file), members_(members), out_(kOutBytes) {
  if (members_.rank() == 0) file_.write(kHeader);
  checksum_.crc = crc32(0, nullptr, 0);
  const int code = deflateInit2(&stream_, kLevel, Z_DEFLATED, kRawDeflate, kMemoryLevel,
                                Z_DEFAULT_STRATEGY);
  if (code != Z_OK) status_ = Status::error("zlib: " + std::string(zError(code)));
}

DeflatePart::~DeflatePart() { deflateEnd(&stream_); }

void DeflatePart::write(std::string_view text) {
  constexpr std::size_t kMax = std::numeric_limits<uInt>::max() / 2;
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), kMax)))
    run(text.substr(0, kMax), Z_NO_FLUSH);
}

void DeflatePart::run(std::string_view text, int flush) {
  if (!status_.is_ok()) return;
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
  const auto count = static_cast<uInt>(text.size());
  if (count > 0) checksum_.crc = crc32(static_cast<uLong>(checksum_.crc), bytes, count);
  checksum_.size_bytes += count;
  stream_.next_in = const_cast<Bytef*>(bytes);  // zlib does not write through this pointer
  stream_.avail_in = count;
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
    stream_.avail_out = static_cast<uInt>(out_.size());
    deflate(&stream_, flush);
    file_.write(std::span(out_).first(out_.size() - stream_.avail_out));
  } while (stream_.avail_out == 0);
}

Status DeflatePart::finish() {
  run({}, is_last() ? Z_FINISH : Z_SYNC_FLUSH);  // the flush ends a part at a byte boundary
  Collective::Bytes all(sizeof(Checksum));
  std::memcpy(all.data(), &checksum_, sizeof checksum_);
  Status status = members_.merge_all(
      all, [](Collective::Bytes& mine, std::span<const std::byte> theirs) {
        Checksum left;
        Checksum right;
        std::memcpy(&left, mine.data(), sizeof left);
        std::memcpy(&right, theirs.data(), sizeof right);
        left.crc = crc32_combine(static_cast<uLong>(left.crc), static_cast<uLong>(right.crc),
                                 static_cast<z_off_t>(right.size_bytes));
        left.size_bytes += right.size_bytes;
        std::memcpy(mine.data(), &left, sizeof left);
      });
  if (status.is_ok() && is_last()) {
    std::memcpy(&checksum_, all.data(), sizeof checksum_);
    file_.write(trailer(checksum_.crc, checksum_.size_bytes));
  }
  status.update(std::move(status_));
  return status;
}

}  // namespace megascope::chrome
