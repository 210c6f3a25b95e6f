#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A compact byte form for small data in messages and files: numbers in 7-bit groups, least
/// significant first (LEB128), signed numbers zigzag, strings with their length. Independent of the
/// machine.
namespace megascope {

/// Appends to a byte vector. The caller owns the vector, which must outlive the writer.
class WireWriter {
 public:
  explicit WireWriter(std::vector<std::byte>& to) : to_(to) {}

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to_.push_back(static_cast<std::byte>(value | 0x80));
    to_.push_back(static_cast<std::byte>(value));
  }
  void signed_number(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    const auto bytes = std::as_bytes(std::span(value.data(), value.size()));
    to_.insert(to_.end(), bytes.begin(), bytes.end());
  }

 private:
  std::vector<std::byte>& to_;
};

/// Reads what WireWriter wrote, from untrusted bytes. After the first error every read returns 0 or
/// empty and is_ok() is false, so that a reader checks once at the end. Loops must be bounded with
/// count().
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> from) : from_(from) {}

  bool is_ok() const noexcept { return is_ok_; }
  bool is_at_end() const noexcept { return is_ok_ && from_.empty(); }
  /// Marks an error that the caller found.
  void fail() noexcept {
    is_ok_ = false;
    from_ = {};
  }

  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (from_.empty()) break;
      const auto byte = std::to_integer<std::uint64_t>(from_.front());
      from_ = from_.subspan(1);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  std::int64_t signed_number() noexcept {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  /// Reads a number of at most `limit`.
  std::uint64_t bounded(std::uint64_t limit) noexcept {
    const std::uint64_t value = number();
    if (value <= limit) return value;
    fail();
    return 0;
  }
  /// Reads a number of elements that follow, each of at least one byte: never more than the
  /// remaining bytes can hold.
  std::size_t count(std::size_t limit) noexcept {
    const std::uint64_t value = number();
    if (value <= limit && value <= from_.size()) return static_cast<std::size_t>(value);
    fail();
    return 0;
  }
  std::string text(std::size_t limit) {
    const std::size_t size = count(limit);
    std::string value(size, '\0');
    if (size != 0) std::memcpy(value.data(), from_.data(), size);
    from_ = from_.subspan(size);
    return value;
  }

 private:
  std::span<const std::byte> from_;
  bool is_ok_ = true;
};

}  // namespace megascope
