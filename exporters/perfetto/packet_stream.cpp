#include "exporters/perfetto/packet_stream.h"

#include <protozero/pbf_writer.hpp>

#include <bit>

namespace megascope::perfetto {

using schema::Clock;
using schema::TracePacket;

static_assert(std::endian::native == std::endian::little,
              "fixed64 fields are copied as they lie in memory");

PacketStream::PacketStream(timeline::JointFile& file, std::uint32_t sequence_id)
    : file_(file), sequence_id_(sequence_id) {}

void PacketStream::put_first(std::int64_t start_realtime_ns, std::uint64_t default_track_uuid,
                             const std::string& interned) {
  std::string packet;
  protozero::pbf_writer writer(packet);
  writer.add_uint32(TracePacket::kTrustedPacketSequenceId, sequence_id_);
  writer.add_uint32(TracePacket::kSequenceFlags, TracePacket::kIncrementalStateCleared);
  {
    protozero::pbf_writer snapshot(writer, TracePacket::kClockSnapshot);
    const auto add_clock = [&snapshot](std::uint32_t id, std::uint64_t time_ns,
                                       bool is_incremental) {
      protozero::pbf_writer clock(snapshot, schema::ClockSnapshot::kClocks);
      clock.add_uint32(Clock::kClockId, id);
      clock.add_uint64(Clock::kTimestamp, time_ns);
      if (is_incremental) clock.add_bool(Clock::kIsIncremental, true);
    };
    add_clock(Clock::kBoottime, 0, false);
    add_clock(Clock::kSequenceScoped, 0, true);
    add_clock(Clock::kRealtime, static_cast<std::uint64_t>(start_realtime_ns), false);
  }
  {
    protozero::pbf_writer defaults(writer, TracePacket::kTracePacketDefaults);
    defaults.add_uint32(schema::TracePacketDefaults::kTimestampClockId, Clock::kSequenceScoped);
    protozero::pbf_writer event(defaults, schema::TracePacketDefaults::kTrackEventDefaults);
    event.add_uint64(schema::TrackEventDefaults::kTrackUuid, default_track_uuid);
  }
  writer.add_message(TracePacket::kInternedData, interned);
  out_.reserve(packet.size() + FieldBuffer::kMaxNumberBytes);
  out_.message(schema::Trace::kPacket, packet);
  last_time_ns_ = 0;
}

void PacketStream::put(std::uint32_t field, std::string_view message) {
  head_.clear();
  head_.reserve(message.size() + 3 * FieldBuffer::kMaxNumberBytes);
  head_.number(TracePacket::kTrustedPacketSequenceId, sequence_id_);
  head_.message(field, {message.data(), message.size()});
  out_.reserve(head_.size() + FieldBuffer::kMaxNumberBytes);
  out_.message(schema::Trace::kPacket, head_.bytes());
}

// Does not set SEQ_NEEDS_INCREMENTAL_STATE, which lets readers skip packets whose names were lost
// with an earlier part of a ring buffer. A file is complete, and the flag would cost 4 bytes for
// each slice.
void PacketStream::put_event(std::uint64_t time_ns, std::span<const char> track_event) {
  head_.clear();
  head_.number(TracePacket::kTimestamp, time_ns - last_time_ns_);
  last_time_ns_ = time_ns;
  head_.number(TracePacket::kTrustedPacketSequenceId, sequence_id_);
  head_.varint(TracePacket::kTrackEvent << 3 | 2);
  head_.varint(track_event.size());
  const std::size_t packet_bytes = head_.size() + track_event.size();
  out_.reserve(packet_bytes + FieldBuffer::kMaxNumberBytes);
  out_.varint(schema::Trace::kPacket << 3 | 2);
  out_.varint(packet_bytes);
  out_.raw(head_.bytes());
  out_.raw(track_event);
  if (out_.size() >= kFlushBytes) flush();
}

void PacketStream::flush() {
  file_.write(out_.bytes());
  out_.clear();
}

}  // namespace megascope::perfetto
