// trace_reader_seeds FOLDER [TRACE...]: a seed corpus for trace_reader_fuzzer. Writes the hand-made
// trace of the unit tests, also packed, and each given trace with its chunks cut down to the pages
// in use, so that a fuzzer's changes hit something.

#include "tests/core/sample_trace.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using megascope::trace::ChunkHeader;

void write(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

std::string shortened(const std::string& trace) {
  std::string kept = trace.substr(0, megascope::trace::kFileHeaderBytes);
  for (std::size_t at = kept.size(); at + sizeof(ChunkHeader) <= trace.size();) {
    std::uint32_t chunk_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::memcpy(&chunk_bytes, trace.data() + at + offsetof(ChunkHeader, chunk_bytes),
                sizeof chunk_bytes);
    std::memcpy(&used_bytes, trace.data() + at + offsetof(ChunkHeader, used_bytes),
                sizeof used_bytes);
    if (chunk_bytes == 0) break;
    const auto pages = static_cast<std::uint32_t>((used_bytes + 4095) / 4096 * 4096);
    std::string chunk = trace.substr(at, pages);
    std::memcpy(chunk.data() + offsetof(ChunkHeader, chunk_bytes), &pages, sizeof pages);
    kept += chunk;
    at += chunk_bytes;
  }
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: trace_reader_seeds FOLDER [TRACE...]\n");
    return 2;
  }
  const std::string directory = argv[1];
  write(directory + "/sample", megascope::trace::SampleTrace::rich().bytes());
  write(directory + "/hooks", megascope::trace::SampleTrace::with_hooks().bytes());
  write(directory + "/packed", megascope::trace::SampleTrace::rich().pack().bytes());
  write(directory + "/packed-hooks", megascope::trace::SampleTrace::with_hooks().pack().bytes());
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string trace((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    const std::string kept = shortened(trace);
    write(directory + "/trace-" + std::to_string(i - 1), std::as_bytes(std::span(kept)));
  }
  return 0;
}
