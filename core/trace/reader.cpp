#include "core/trace/reader.h"

#include "core/base/safe_file.h"
#include "core/encoding/call_decoder.h"
#include "core/trace/definition_codec.h"
#include "core/trace/hook_stream.h"
#include "core/trace/liveness.h"
#include "core/trace/location_stream.h"
#include "core/trace/mapping_guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

/// Smallest size of a location in a file: its definition. Bounds the allocation that a damaged
/// number can cause.
constexpr std::size_t kMinLocationBytes = 32;
constexpr std::int32_t kMaxRanks = std::int32_t{1} << 24;

/// Bounds clock values, so that computations with damaged ones do not overflow; 2^61 ns are 73
/// years.
ClockPoint bounded(ClockPoint point) {
  constexpr std::int64_t kMaxNs = std::int64_t{1} << 61;
  point.monotonic_ns = std::clamp(point.monotonic_ns, std::int64_t{0}, kMaxNs);
  point.realtime_ns = std::clamp(point.realtime_ns, std::int64_t{0}, kMaxNs);
  return point;
}

constexpr std::size_t kHeaderWords = sizeof(ChunkHeader) / sizeof(encoding::Word);
using HeaderBytes = std::array<std::byte, sizeof(ChunkHeader)>;

/// Copies the header of a chunk that its thread may be writing, so that the pending call belongs to
/// the records that `used_bytes` covers. If the thread writes at each of many tries, the pending
/// call is given as unknown. Returns used_bytes.
std::size_t copy_header(const ChunkHeader& from, HeaderBytes& to) {
  constexpr int kMaxTries = 1000;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    HeaderBytes again;
    const std::uint64_t used = from.used_bytes.load(std::memory_order_acquire);
    std::memcpy(to.data(), &from, sizeof from);
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(again.data(), &from, sizeof from);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (to == again && from.used_bytes.load(std::memory_order_acquire) == used) return used;
  }
  std::memcpy(to.data() + offsetof(ChunkHeader, pending), &kUnknownCall, sizeof kUnknownCall);
  return from.used_bytes.load(std::memory_order_acquire);
}

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
  for (int tries = 0; tries < kMaxTries; ++tries) {
    Status status = open_once(directory, name, result);
    if (!status.is_ok() || result->is_one_moment_) return status;
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

void TraceFile::release(const Chunk& chunk) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(chunk.words.data());
  const auto mapped = reinterpret_cast<std::uintptr_t>(mapping_);
  if (mapping_ == nullptr || begin < mapped || begin >= mapped + bytes_.size())
    return;  // a snapshot
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = begin & ~(page - 1);
  const std::uintptr_t end = (begin + chunk.words.size_bytes()) & ~(page - 1);
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
  if (header.version != kFormatVersion || header.header_bytes != kFileHeaderBytes) {
    return Status::error("has format version " + std::to_string(header.version) +
                         ", this program reads version " + std::to_string(kFormatVersion));
  }
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

void TraceFile::scan_chunks() {
  std::size_t at = kFileHeaderBytes;
  bool is_behind_nothing = false;
  while (at + sizeof(ChunkHeader) <= bytes_.size()) {
    const auto* chunk = reinterpret_cast<const ChunkHeader*>(bytes_.data() + at);
    const bool is_chunk = chunk->magic == kChunkMagic && chunk->chunk_bytes >= kChunkAlignment &&
                          chunk->chunk_bytes % kChunkAlignment == 0 &&
                          chunk->chunk_bytes <= kMaxChunkBytes;
    if (!is_chunk) {
      // Reserved space that was never used is all zero; anything else is damage. Chunks begin at
      // page boundaries.
      if (chunk->magic != 0) ++damaged_count_;
      if (chunk->magic != 0 && is_behind_nothing)
        is_one_moment_ = false;  // or a chunk was begun there just now
      is_behind_nothing = is_behind_nothing || chunk->magic == 0;
      at += kChunkAlignment;
      continue;
    }
    is_behind_nothing = false;
    add_chunk(chunk, bytes_.size() - at);
    at += chunk->chunk_bytes;
  }
}

/// Removes duplicates: a copied chunk may occur twice, or its copy be incomplete. The one with more
/// records has everything.
void TraceFile::keep_whole_copies(Chunks& chunks) {
  std::stable_sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) {
    if (a.sequence != b.sequence) return a.sequence < b.sequence;
    if (a.words.size() != b.words.size()) return a.words.size() > b.words.size();
    return a.header > b.header;  // after the chunk that it was copied from, and not written again
  });
  const auto end = std::unique(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) {
    return a.sequence == b.sequence;
  });
  chunks.erase(end, chunks.end());
}

/// Takes a snapshot of a location's last chunk, which the process may reuse while it is read, after
/// copying it beyond what is mapped. Returns false if that happened: read again.
bool TraceFile::hold_open_chunk(Chunks& chunks) {
  if (chunks.empty()) return true;
  Chunk& last = chunks.back();
  if (chunks.size() > 1 && chunks[chunks.size() - 2].sequence + 1 != last.sequence) return false;
  const std::size_t space = static_cast<std::size_t>(
      bytes_.data() + bytes_.size() - reinterpret_cast<const std::byte*>(last.header));
  HeaderBytes header;
  const std::size_t used = copy_header(*last.header, header);
  if (used > std::min<std::size_t>(last.header->chunk_bytes, space)) return false;
  const std::size_t size = (used - sizeof(ChunkHeader)) / sizeof(encoding::Word);
  if (used < sizeof(ChunkHeader) || size < last.words.size()) return false;
  auto copy = std::make_unique_for_overwrite<encoding::Word[]>(kHeaderWords + size);
  std::memcpy(copy.get(), header.data(), sizeof header);
  std::memcpy(copy.get() + kHeaderWords, first_word(last.header), size * sizeof(encoding::Word));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (last.header->sequence != last.sequence ||
      last.header->used_bytes.load(std::memory_order_acquire) < used)
    return false;
  used_bytes_ += (size - last.words.size()) * sizeof(encoding::Word);
  last.header = reinterpret_cast<const ChunkHeader*>(copy.get());
  last.words = {copy.get() + kHeaderWords, size};
  held_.push_back(std::move(copy));
  return true;
}

bool TraceFile::hold_open_chunks() {
  const auto hold = [this](Chunks& chunks) { return hold_open_chunk(chunks); };
  return std::ranges::all_of(locations_, hold) && std::ranges::all_of(hooks_, hold);
}

void TraceFile::add_chunk(const ChunkHeader* header, std::size_t space) {
  const std::uint64_t used = header->used_bytes.load(std::memory_order_acquire);
  const std::size_t end = std::min<std::size_t>({used, header->chunk_bytes, space});
  if (used < sizeof(ChunkHeader) || used > header->chunk_bytes) ++damaged_count_;
  if (end < used)
    is_one_moment_ = false;  // a running process: a copy that grew after the file was mapped
  if (end < sizeof(ChunkHeader)) return;
  const auto* payload = reinterpret_cast<const std::byte*>(header + 1);
  const std::size_t size = end - sizeof(ChunkHeader);
  used_bytes_ += end;
  if (header->kind == ChunkKind::kDefinitions) {
    damaged_count_ += decode_definitions({payload, size}, definitions_);
    return;
  }
  const bool is_known = header->kind == ChunkKind::kEvents || header->kind == ChunkKind::kHooks;
  if (!is_known || header->location >= bytes_.size() / kMinLocationBytes) {
    if (size != 0) ++damaged_count_;
    return;
  }
  std::vector<Chunks>& all = header->kind == ChunkKind::kEvents ? locations_ : hooks_;
  if (header->location >= all.size()) all.resize(header->location + 1);
  all[header->location].push_back(
      {header,
       header->sequence,
       {reinterpret_cast<const encoding::Word*>(payload), size / sizeof(encoding::Word)}});
  if (header->moment_ticks > definitions_.info.clock.points.back().ticks &&
      definitions_.info.end_ticks == 0) {
    definitions_.info.clock.points.push_back(
        bounded({header->moment_ticks, header->moment_monotonic_ns, header->moment_realtime_ns}));
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
    definitions_.locations[i].has_ended = !last.words.empty() &&
                                          last.header->pending[0].words[0] == 0;
  }
}

std::uint64_t TraceFile::last_hook_ticks(LocationId location) const {
  std::uint64_t last = 0;
  if (hooks_[location].empty()) return last;
  HookDecoder decoder;
  decoder.begin_chunk(hooks_[location].back().words, hooks_[location].back().header->base_ticks);
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
      decoder.begin_chunk(last.words, last.header->base_ticks);
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
  decoder.begin_chunk(last.words, last.header->base_ticks);
  std::uint64_t base_ticks = last.header->base_ticks;
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
