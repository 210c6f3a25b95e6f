#pragma once

#include "exporters/common/joint_file.h"
#include "exporters/perfetto/schema.h"

#include <protozero/types.hpp>
#include <protozero/varint.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::perfetto {

/// Reusable buffer for one protobuf message, for packets that occur millions of times. The writing
/// functions do not check the size: reserve() must be called with a sufficient size before them.
class FieldBuffer {
 public:
  void clear() { size_ = 0; }
  /// Makes space for `bytes` further bytes.
  void reserve(std::size_t bytes) {
    if (size_ + bytes > data_.size()) data_.resize(2 * (size_ + bytes));
  }
  std::span<const char> bytes() const { return {data_.data(), size_}; }
  std::size_t size() const { return size_; }

  void varint(std::uint64_t value) {
    size_ += static_cast<std::size_t>(protozero::write_varint(data_.data() + size_, value));
  }
  void number(std::uint32_t field, std::uint64_t value) {
    key(field, protozero::pbf_wire_type::varint);
    varint(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    key(field, protozero::pbf_wire_type::fixed64);
    raw({reinterpret_cast<const char*>(&value), sizeof value});  // little-endian machines only
  }
  void message(std::uint32_t field, std::span<const char> content) {
    key(field, protozero::pbf_wire_type::length_delimited);
    varint(content.size());
    raw(content);
  }
  void raw(std::span<const char> content) {
    std::memcpy(data_.data() + size_, content.data(), content.size());
    size_ += content.size();
  }

  /// Maximum size of a number field with a small field number.
  static constexpr std::size_t kMaxNumberBytes = 2 + 10;

 private:
  void key(std::uint32_t field, protozero::pbf_wire_type wire) {
    varint(field << 3 | static_cast<std::uint32_t>(wire));
  }

  std::vector<char> data_ = std::vector<char>(1024);
  std::size_t size_ = 0;
};

/// Writes the packets of one trusted packet sequence. put_first() defines a clock of the sequence
/// with a resolution of 1 ns. A timestamp is the difference to the previous packet on this clock.
class PacketStream {
 public:
  /// sequence_id: > 0 and unique in the file. file must outlive this object.
  PacketStream(timeline::JointFile& file, std::uint32_t sequence_id);

  /// Writes the first packet. It defines the clock and the defaults of later packets. Time 0 of the
  /// clock is the start of the run, at start_realtime_ns. interned: content of the InternedData
  /// message.
  void put_first(std::int64_t start_realtime_ns, std::uint64_t default_track_uuid,
                 const std::string& interned);
  /// Writes a packet with one message and no timestamp.
  void put(std::uint32_t field, std::string_view message);
  /// Writes an event. `time_ns` must not be before the previous event.
  void put_event(std::uint64_t time_ns, std::span<const char> track_event);
  /// Writes buffered packets to the file. Also done automatically when the buffer is full.
  void flush();

 private:
  static constexpr std::size_t kFlushBytes = 256 * 1024;

  timeline::JointFile& file_;
  std::uint32_t sequence_id_;
  FieldBuffer head_;  ///< fields of the current packet, without the message
  FieldBuffer out_;
  std::uint64_t last_time_ns_ = 0;
};

}  // namespace megascope::perfetto
