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

/// A message of protobuf fields in memory that is used again and again: for packets of which there
/// are millions. Room is made by `reserve`; the writers do not look.
class FieldBuffer {
 public:
  void clear() { size_ = 0; }
  /// Room for `bytes` more.
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
    raw({reinterpret_cast<const char*>(&value),
         sizeof value});  // little endian, as everywhere we run
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

  static constexpr std::size_t kMaxNumberBytes = 2 + 10;  ///< of a field that we write

 private:
  void key(std::uint32_t field, protozero::pbf_wire_type wire) {
    varint(field << 3 | static_cast<std::uint32_t>(wire));
  }

  std::vector<char> data_ = std::vector<char>(1024);
  std::size_t size_ = 0;
};

/// The packets of one trusted packet sequence. Times are written as the difference to the packet
/// before, on a clock of the sequence that `put_first` sets up: ns, exact.
class PacketStream {
 public:
  /// sequence_id > 0, no other sequence of the file has it. The file must outlive this object.
  PacketStream(timeline::JointFile& file, std::uint32_t sequence_id);

  /// The first packet: starts the clock at ns 0 of the run, which was at start_realtime_ns, and
  /// sets what later packets leave out. interned: content of InternedData.
  void put_first(std::int64_t start_realtime_ns, std::uint64_t default_track_uuid,
                 const std::string& interned);
  /// A packet without time that holds one message.
  void put(std::uint32_t field, std::string_view message);
  /// An event; `time_ns` is not before that of the event before.
  void put_event(std::uint64_t time_ns, std::span<const char> track_event);
  /// To the file. Also done when much has come together.
  void flush();

 private:
  static constexpr std::size_t kFlushBytes = 256 * 1024;

  timeline::JointFile& file_;
  std::uint32_t sequence_id_;
  FieldBuffer head_;  ///< of the packet in work: all but the message
  FieldBuffer out_;
  std::uint64_t last_time_ns_ = 0;
};

}  // namespace megascope::perfetto
