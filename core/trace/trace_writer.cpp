#include "core/trace/trace_writer.h"

#include "core/trace/definition_codec.h"
#include "core/trace/process_header.h"
#include "core/trace/run_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace megascope::trace {

using namespace encoding;

namespace {

constexpr std::size_t kFirstChunkBytes = std::size_t{16} << 10;
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

}  // namespace

Status TraceWriter::open(const std::string& path, const ProcessDefinitions& process) {
  info_ = process.info;
  if (info_.clock.points.empty()) info_.clock.points.push_back({info_.start_ticks, 0, 0});
  store_ = std::make_unique<ChunkStore>();
  Status status = store_->create(path, Backing::kWritten, kNoLimit);
  if (!status.is_ok()) return status;
  begin_header(*store_->header(), info_);
  for (std::size_t i = 0; i < kLossCauseCount; ++i)
    store_->header()->losses[i].store(process.losses[i]);
  store_->header()->overhead_ticks.store(info_.overhead_ticks);
  locations_.resize(std::max<std::size_t>(process.locations.size(), 1));
  return write_definitions(process);
}

Status TraceWriter::write_definitions(const ProcessDefinitions& process) {
  DefinitionBytes all;
  const auto append = [&all](const DefinitionBytes& one) {
    all.insert(all.end(), one.begin(), one.end());
  };
  for (const DefinitionBytes& property : encode_properties(info_)) append(property);
  if (info_.has_message_gaps) append(encode_property(kPropertyMessageGaps, "1"));
  for (const std::string& name : info_.unrecorded)
    append(encode_property(kPropertyUnrecorded, name));
  if ((info_.interfaces & kInterfaceC) != 0) append(encode_property(kPropertyInterface, "c"));
  if ((info_.interfaces & kInterfaceFortran) != 0)
    append(encode_property(kPropertyInterface, "fortran"));
  if ((info_.interfaces & kInterfaceFortran08) != 0)
    append(encode_property(kPropertyInterface, "fortran08"));
  for (const auto& region : process.regions) append(encode(region));
  for (const auto& comm : process.comms) append(encode(comm));
  for (const auto& file : process.files) append(encode(file));
  for (const auto& window : process.windows) append(encode(window));
  for (const auto& group : process.groups) append(encode(group));
  for (const auto& site : process.call_sites) append(encode(site));
  for (const auto& location : process.locations) append(encode(location));
  const std::size_t bytes = chunk_space(all.size() + sizeof(ChunkHeader));
  Status status;
  ChunkHeader* chunk = store_->acquire(bytes, bytes, status, ChunkStore::Use::kDefinitions);
  if (chunk == nullptr)
    return status.is_ok() ? Status::error("no space for definitions in " + store_->path()) : status;
  chunk->kind = ChunkKind::kDefinitions;
  std::memcpy(static_cast<void*>(chunk + 1), all.data(), all.size());
  chunk->used_bytes.store(sizeof(ChunkHeader) + all.size());
  return store_->release(chunk);
}

/// Writes the open chunk up to its last used page; the rest is a hole, or the end of the file.
Status TraceWriter::release_chunk(Location& location) {
  ChunkHeader* chunk = location.chunk;
  location.chunk = nullptr;
  if (chunk == nullptr) return Status::ok();
  const std::uint64_t used = chunk->used_bytes.load();
  chunk->chunk_bytes = static_cast<std::uint32_t>(chunk_space(used));
  return store_->release(chunk);
}

Status TraceWriter::begin_chunk(Location& location, LocationId id, std::uint64_t ticks) {
  Status status = release_chunk(location);
  const std::size_t bytes = location.sequence == 0 ? kFirstChunkBytes : kChunkBytes;
  ChunkHeader* chunk = status.is_ok() ? store_->acquire(bytes, bytes, status) : nullptr;
  if (chunk == nullptr)
    return status.is_ok() ? Status::error("no space in " + store_->path()) : status;
  const ClockPoint& first = info_.clock.points.front();
  const auto since_first = static_cast<std::int64_t>(ticks - first.ticks);
  chunk->kind = ChunkKind::kEvents;
  chunk->location = id;
  chunk->sequence = location.sequence++;
  chunk->base_ticks = chunk->moment_ticks = ticks;
  chunk->moment_monotonic_ns = first.monotonic_ns + since_first;
  chunk->moment_realtime_ns = first.realtime_ns + since_first;
  location.chunk = chunk;
  location.base_ticks = ticks;
  location.cursor = first_word(chunk);
  location.limit = reinterpret_cast<Word*>(reinterpret_cast<std::byte*>(chunk) +
                                           chunk->chunk_bytes);
  return status;
}

Status TraceWriter::make_space(Location& location, LocationId id, std::size_t words,
                               std::uint64_t ticks) {
  if (location.chunk != nullptr && location.cursor + words <= location.limit) return Status::ok();
  return begin_chunk(location, id, ticks);
}

Status TraceWriter::write(Location& location, LocationId id, const Held& held) {
  const Call& call = held.call;
  const std::uint64_t duration = call.leave_ns - call.enter_ns;
  Status status = make_space(location, id, kMaxCallWords + kTimeBaseWords, call.enter_ns);
  if (!status.is_ok()) return status;
  if (!time_fits(call.enter_ns, location.base_ticks)) {
    *location.cursor++ = kTimeBase;
    *location.cursor++ = location.base_ticks = call.enter_ns;
  }
  const CallWords words{call.enter_ns, std::min<std::uint64_t>(duration, kLongDuration),
                        call.region, call.depth, call.comm};
  Folded folded;
  const std::vector<Fact> rest = location.encoder.split(call, held.facts, words,
                                                        location.base_ticks, folded);
  location.cursor = encode_call(location.cursor, words, folded, location.base_ticks, !rest.empty());
  for (const Fact& fact : rest) {
    Word fact_words[kMaxFactWords];
    const std::size_t count = encode_fact(fact, fact_words);
    const auto end = reinterpret_cast<std::byte*>(location.cursor) -
                     reinterpret_cast<std::byte*>(location.chunk);
    location.chunk->used_bytes.store(static_cast<std::uint64_t>(end));
    status = make_space(location, id, count, call.leave_ns);
    if (!status.is_ok()) return status;
    location.cursor = std::copy_n(fact_words, count, location.cursor);
  }
  const auto end = reinterpret_cast<std::byte*>(location.cursor) -
                   reinterpret_cast<std::byte*>(location.chunk);
  location.chunk->used_bytes.store(static_cast<std::uint64_t>(end));
  return status;
}

/// Writes enclosing calls once the calls inside of them are written: records are in order of
/// return.
Status TraceWriter::release_down_to(Location& location, LocationId id, std::size_t depth) {
  Status status;
  while (status.is_ok() && !location.enclosing.empty() &&
         location.enclosing.back().call.depth >= depth) {
    status = write(location, id, location.enclosing.back());
    location.enclosing.pop_back();
  }
  return status;
}

void TraceWriter::mark_pending(Location& location, const Call& call) {
  const Folded folded = CallEncoder::fold_posted(call.posted);
  Word* to = location.chunk->pending[0].words;
  to[0] = entry_word(call.enter_ns, location.base_ticks, call.region);
  to[1] = comm_field(call.comm) | Word{static_cast<std::uint8_t>(folded.kind)} << 48;
  to[2] = folded.words[0];
  to[3] = folded.words[1];
  location.is_pending = true;
}

Status TraceWriter::add(LocationId id, const Call& call) {
  if (id >= locations_.size())
    return Status::error("a call of location " + std::to_string(id) + ", which is not defined");
  Location& location = locations_[id];
  Status status = release_down_to(location, id, call.depth);
  if (!status.is_ok() || !call.is_pending) {
    location.enclosing.push_back({call, {call.facts.begin(), call.facts.end()}});
    location.enclosing.back().call.facts = {};
    return status;
  }
  status = make_space(location, id, 0, call.enter_ns);
  if (status.is_ok()) mark_pending(location, call);
  return status;
}

Status TraceWriter::finish() {
  Status status;
  for (LocationId id = 0; id < locations_.size(); ++id) {
    Location& location = locations_[id];
    status.update(release_down_to(location, id, 0));
    status.update(release_chunk(location));
  }
  ClockPoint last = info_.clock.points.back();
  if (info_.end_ticks != 0 && last.ticks != info_.end_ticks) {
    const auto since_last = static_cast<std::int64_t>(info_.end_ticks - last.ticks);
    last = {info_.end_ticks, last.monotonic_ns + since_last, last.realtime_ns + since_last};
  }
  if (info_.end_state != EndState::kRunning) end_header(*store_->header(), info_.end_state, last);
  status.update(store_->flush());
  store_.reset();
  locations_.clear();
  return status;
}

}  // namespace megascope::trace
