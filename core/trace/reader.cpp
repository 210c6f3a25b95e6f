#include "core/trace/reader.h"

#include "core/base/safe_file.h"
#include "core/encoding/call_decoder.h"
#include "core/trace/chunk_words.h"
#include "core/trace/clock_bounds.h"
#include "core/trace/hook_stream.h"
#include "core/trace/liveness.h"
#include "core/trace/location_stream.h"
#include "core/trace/mapping_guard.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

constexpr std::int32_t kMaxRanks = std::int32_t{1} << 24;

std::string text_of(const char* field, std::size_t size) { return {field, strnlen(field, size)}; }

}  // namespace

TraceFile::~TraceFile() {
  if (mapping_ == nullptr) return;
  forget_mapping(mapping_);
  munmap(mapping_, bytes_.size());
}

Status TraceFile::open(const std::string& path, std::unique_ptr<TraceFile>& result) {
  return open(files::current_directory(), path, result);
}

Status TraceFile::open(const files::Base& directory, const std::string& name,
                       std::unique_ptr<TraceFile>& result) {
  constexpr int kMaxTries = 32;
  Extent last;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    Status status = open_once(directory, name, result);
    if (!status.is_ok() || result->is_one_moment_) return status;
    const Extent now = result->extent();
    // It is damaged: its process was killed.
    if (now == last && liveness_of(result->definitions().info) != Liveness::kRuns) return status;
    last = now;
  }
  return Status::ok();  // chunks that were overwritten meanwhile look the same; the present content
                        // is valid
}

Status TraceFile::open_once(const files::Base& directory, const std::string& name,
                            std::unique_ptr<TraceFile>& result) {
  const std::string path = directory.path.empty() ? name : directory.path + "/" + name;
  files::Descriptor opened;
  const Status openable = files::open_existing(directory, name, O_RDONLY, files::Owner::kAnyone,
                                               opened);
  if (!openable.is_ok()) return openable;
  const int file = opened.number();
  struct stat info {};
  struct stat parent {};
  if (fstat(file, &info) != 0) return Status::from_errno("cannot inspect " + path, errno);
  const bool has_parent = directory.directory >= 0;
  if (has_parent && (fstat(directory.directory, &parent) != 0 || parent.st_uid != info.st_uid)) {
    return Status::error("cannot use " + path +
                         ": it belongs to another user than the directory it is in");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size < kFileHeaderBytes) return Status::error(path + " is too short to be a MegaScope trace");
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) return Status::from_errno("cannot map " + path, errno);
  std::unique_ptr<TraceFile> trace(new TraceFile);
  trace->mapping_ = mapping;
  note_mapping(mapping, size, path);
  const Status status = trace->read({static_cast<const std::byte*>(mapping), size});
  if (!status.is_ok()) return Status::error(path + " " + status.message());
  result = std::move(trace);
  return Status::ok();
}

std::size_t TraceFile::unpacked_bytes() const {
  std::size_t bytes = used_bytes_;
  const auto add_saved = [&bytes](const Chunks& chunks) {
    for (const Chunk& chunk : chunks) {
      const std::size_t unpacked = chunk.word_count * sizeof(encoding::Word);
      if (chunk.is_packed) bytes += unpacked - std::min(unpacked, chunk.content.size());
    }
  };
  std::ranges::for_each(locations_, add_saved);
  std::ranges::for_each(hooks_, add_saved);
  return bytes;
}

void TraceFile::release(const Chunk& chunk) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(chunk.content.data());
  const auto mapped = reinterpret_cast<std::uintptr_t>(mapping_);
  if (mapping_ == nullptr || begin < mapped || begin >= mapped + bytes_.size())
    return;  // a snapshot
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = begin & ~(page - 1);
  const std::uintptr_t end = (begin + chunk.content.size()) & ~(page - 1);
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

Status TraceFile::parse(std::span<const std::byte> bytes, std::unique_ptr<TraceFile>& result) {
  std::unique_ptr<TraceFile> trace(new TraceFile);
  Status status = trace->read(bytes);
  if (status.is_ok()) result = std::move(trace);
  return status;
}

Status TraceFile::read(std::span<const std::byte> bytes) {
  bytes_ = bytes;
  if (bytes.size() < kFileHeaderBytes) return Status::error("is too short to be a MegaScope trace");
  const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
  if (std::memcmp(header.magic, kFileMagic, sizeof kFileMagic) != 0)
    return Status::error("is not a MegaScope trace");
  if (header.version < kOldestFormatVersion || header.version > kFormatVersion ||
      header.header_bytes != kFileHeaderBytes) {
    return Status::error("has format version " + std::to_string(header.version) +
                         ", this program reads versions " + std::to_string(kOldestFormatVersion) +
                         " to " + std::to_string(kFormatVersion));
  }
  version_ = header.version;
  read_header(header);
  scan_chunks();
  for (Chunks& chunks : locations_) keep_whole_copies(chunks);
  for (Chunks& chunks : hooks_) keep_whole_copies(chunks);
  is_one_moment_ = definitions_.info.end_state != EndState::kRunning ||
                   (is_one_moment_ && hold_open_chunks());
  complete_locations();
  find_end();
  definitions_.losses[static_cast<std::size_t>(LossCause::kDamaged)] += damaged_count_;
  return Status::ok();
}

void TraceFile::read_header(const FileHeader& header) {
  ProcessInfo& info = definitions_.info;
  info.world_rank = std::clamp(header.world_rank, 0, kMaxRanks - 1);
  info.world_size = std::clamp(header.world_size, info.world_rank + 1, kMaxRanks);
  info.pid = header.pid;
  info.run_id = text_of(header.run_id, sizeof header.run_id);
  info.identity = identity_in(header);
  info.thread_level = static_cast<int>(header.thread_level & 3);
  info.clock.kind = header.clock_kind == static_cast<std::uint32_t>(ClockKind::kMonotonic)
                        ? ClockKind::kMonotonic
                        : ClockKind::kTsc;
  info.start_ticks = header.start_ticks;
  info.end_ticks = header.end_ticks;
  info.end_state = header.end_state <= static_cast<std::uint32_t>(EndState::kRecovered)
                       ? static_cast<EndState>(header.end_state)
                       : EndState::kRunning;
  info.is_standalone = header.is_standalone != 0;
  info.overhead_ticks = header.overhead_ticks.load(std::memory_order_relaxed);
  info.clock.points.push_back(bounded({header.first_moment_ticks, header.first_moment_monotonic_ns,
                                       header.first_moment_realtime_ns}));
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    definitions_.losses[i] = header.losses[i].load(std::memory_order_relaxed);
  }
  if (header.end_ticks > header.start_ticks) {
    info.clock.points.push_back(
        bounded({header.end_ticks, header.end_monotonic_ns, header.end_realtime_ns}));
  }
}

/// Completes locations without definition and definitions without location, which occur after
/// damage.
void TraceFile::complete_locations() {
  const std::size_t count = std::max(
      {locations_.size(), hooks_.size(), definitions_.locations.size()});
  locations_.resize(count);
  hooks_.resize(count);
  while (definitions_.locations.size() < locations_.size()) {
    LocationDefinition location;
    location.id = static_cast<LocationId>(definitions_.locations.size());
    location.name = location.id == 0 ? "main thread" : "thread " + std::to_string(location.id);
    location.is_main = location.id == 0;
    definitions_.locations.push_back(std::move(location));
  }
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (locations_[i].empty()) continue;
    const Chunk& last = locations_[i].back();
    definitions_.locations[i].lacks_beginning = locations_[i].front().sequence != 0;
    definitions_.locations[i].has_ended = last.word_count != 0 &&
                                          last.header->pending[0].words[0] == 0;
  }
}

std::uint64_t TraceFile::last_hook_ticks(LocationId location) const {
  std::uint64_t last = 0;
  if (hooks_[location].empty()) return last;
  HookDecoder decoder;
  ChunkWords words;
  const Chunk& chunk = hooks_[location].back();
  decoder.begin_chunk(words.read(chunk), chunk.base_ticks);
  for (HookRecord record; decoder.next(record);) last = std::max(last, record.ticks);
  return last;
}

void TraceFile::find_end() {
  std::uint64_t end = definitions_.info.end_ticks;
  for (LocationId location = 0; location < locations_.size(); ++location) {
    end = std::max(end, last_hook_ticks(location));
    encoding::CallDecoder decoder;
    Call call;
    if (!locations_[location].empty()) {
      const Chunk& last = locations_[location].back();
      ChunkWords words;
      decoder.begin_chunk(words.read(last), last.base_ticks);
      while (decoder.next(call)) end = std::max(end, call.leave_ns);
      if (decoder.flush(call)) end = std::max(end, call.leave_ns);
    }
    std::vector<Fact> facts;
    if (definitions_.info.end_ticks == 0 && pending_call(location, call, facts))
      end = std::max(end, call.enter_ns);
  }
  definitions_.info.end_ticks = std::max(end, definitions_.info.start_ticks);
}

bool TraceFile::pending_call(LocationId location, Call& call, std::vector<Fact>& facts) const {
  if (location >= locations_.size() || locations_[location].empty()) return false;
  const Chunk& last = locations_[location].back();
  const std::span<const encoding::Word> words(last.header->pending[0].words);
  if (words[0] == 0) return false;
  encoding::CallDecoder decoder;
  ChunkWords recorded;
  decoder.begin_chunk(recorded.read(last), last.base_ticks);
  std::uint64_t base_ticks = last.base_ticks;
  encoding::Word last_word = 0;
  for (Call ignored; decoder.next(ignored);) last_word = decoder.last_outer_word();
  Call ignored;
  if (decoder.flush(ignored)) last_word = decoder.last_outer_word();
  base_ticks = decoder.base_ticks();
  if (words[0] == last_word) return false;
  if (!encoding::CallDecoder::decode_mark(words, base_ticks, call, facts)) return false;
  call.is_pending = true;
  return true;
}

std::unique_ptr<CallStream> TraceFile::calls(LocationId location, const TimeMap& map) const {
  auto calls = std::make_unique<LocationStream>(*this, location, map);
  if (hooks_[location].empty()) return calls;
  return std::make_unique<CallsAndRegions>(std::move(calls),
                                           std::make_unique<RegionStream>(*this, location, map));
}

std::unique_ptr<PointStream> TraceFile::points(LocationId location, const TimeMap& map) const {
  if (hooks_[location].empty()) return nullptr;
  return std::make_unique<LocationPoints>(*this, location, map);
}

}  // namespace megascope::trace
