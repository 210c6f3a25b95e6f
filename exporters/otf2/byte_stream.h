#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Plain values as bytes, for messages between members of one export (same build and byte order);
/// never stored.
namespace megascope::otf2 {

class ByteWriter {
 public:
  void put_u64(std::uint64_t value) { put_raw(&value, sizeof value); }
  void put_i32(std::int32_t value) { put_raw(&value, sizeof value); }
  void put_u8(std::uint8_t value) { put_raw(&value, sizeof value); }
  void put_text(std::string_view text) {
    put_u64(text.size());
    put_raw(text.data(), text.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put_raw(const void* from, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
  }

  std::vector<std::byte> bytes_;
};

/// Reads what a ByteWriter wrote, in the same order. After the end every value is 0 or empty and
/// has_failed() is true. bytes must outlive the reader.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint64_t u64() { return value<std::uint64_t>(); }
  std::int32_t i32() { return value<std::int32_t>(); }
  std::uint8_t u8() { return value<std::uint8_t>(); }
  std::string text() {
    const std::uint64_t count = u64();
    if (count > rest_.size()) {
      fail();
      return {};
    }
    std::string result(reinterpret_cast<const char*>(rest_.data()), count);
    rest_ = rest_.subspan(count);
    return result;
  }
  /// Reads the number of entries that follow. Fails if it is larger than the number of remaining
  /// bytes.
  std::size_t count() {
    const std::uint64_t entries = u64();
    if (entries > rest_.size()) fail();
    return has_failed_ ? 0 : entries;
  }
  bool has_failed() const { return has_failed_; }

 private:
  template <class T>
  T value() {
    T result{};
    if (sizeof result > rest_.size()) {
      fail();
      return result;
    }
    std::memcpy(&result, rest_.data(), sizeof result);
    rest_ = rest_.subspan(sizeof result);
    return result;
  }
  void fail() {
    has_failed_ = true;
    rest_ = {};
  }

  std::span<const std::byte> rest_;
  bool has_failed_ = false;
};

}  // namespace megascope::otf2
