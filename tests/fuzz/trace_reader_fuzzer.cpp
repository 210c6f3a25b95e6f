// Any bytes are a trace or are refused with a sentence; what is readable is read to its end: all
// definitions, all streams, all pending calls, in the run's time. Seeds:
// build/fuzz/fuzz/trace_reader_seeds DIRECTORY [TRACE...].

#include "core/clocks/run_time.h"
#include "core/trace/reader.h"
#include "core/trace/sealed_chunk.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace {

using megascope::Call;
using megascope::Fact;
using megascope::LocationDefinition;
using megascope::TimeMap;

void read_location(const megascope::trace::TraceFile& file, const LocationDefinition& location,
                   const TimeMap& map, std::size_t max_calls) {
  std::size_t call_count = 0;
  std::uint64_t sum = 0;
  const auto calls = file.calls(location.id, map);
  for (Call call; calls->next(call);) {
    if (++call_count > max_calls) std::abort();  // a packed call takes 3 bytes at least
    for (const Fact& fact : call.facts) sum += fact.bytes + fact.comm;
    if (const auto* region = file.definitions().region(call.region)) sum += region->name.size();
    if (const auto* comm = file.definitions().comm(call.comm)) sum += comm->name.size();
  }
  std::size_t point_count = 0;
  if (const auto points = file.points(location.id, map)) {
    for (megascope::Point point; points->next(point);
         sum += point.id + point.tensor.dimension_count) {
      if (++point_count > max_calls) std::abort();
      if (point.tensor.kind >= megascope::TensorKind::kCount ||
          point.tensor.type >= megascope::ElementType::kCount)
        std::abort();
    }
  }
  Call call;
  std::vector<Fact> facts;
  if (file.pending_call(location.id, call, facts)) sum += call.enter_ns;
  asm volatile("" : : "r"(sum));  // everything has been looked at
}

/// Makes the checksums of all packed chunks right. No mutation does, so that nothing behind the
/// checksum would be reached.
void sum_up_chunks(std::span<std::byte> bytes) {
  using megascope::trace::ChunkHeader;
  for (std::size_t at = megascope::trace::kFileHeaderBytes;
       at + sizeof(ChunkHeader) <= bytes.size(); at += megascope::trace::kChunkAlignment) {
    auto& header = *reinterpret_cast<ChunkHeader*>(bytes.data() + at);
    const std::uint64_t used = header.used_bytes.load();
    if (header.magic != megascope::trace::kChunkMagic || header.packed_words == 0 ||
        used < sizeof header || used > bytes.size() - at)
      continue;
    header.checksum = checksum_of(header, bytes.subspan(at + sizeof header, used - sizeof header));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint64_t> aligned(size / 8 + 1);
  if (size != 0) std::memcpy(aligned.data(), data, size);
  sum_up_chunks({reinterpret_cast<std::byte*>(aligned.data()), size});
  std::unique_ptr<megascope::trace::TraceFile> file;
  const auto status = megascope::trace::TraceFile::parse(
      {reinterpret_cast<const std::byte*>(aligned.data()), size}, file);
  if (status.is_ok() != (file != nullptr)) std::abort();
  if (file == nullptr) return 0;
  const auto& definitions = file->definitions();
  const auto time = megascope::run_time_of({megascope::clock_domain_of(definitions.info)});
  if (definitions.locations.size() > size / 16 + 1)
    std::abort();  // a small file has no million of threads
  for (const auto& location : definitions.locations)
    read_location(*file, location, time.of(definitions.info).map, size + 2);
  for (const auto& comm : definitions.comms) {
    (void)megascope::expand(comm.members);
    (void)megascope::expand(comm.remote_members);
  }
  return 0;
}
