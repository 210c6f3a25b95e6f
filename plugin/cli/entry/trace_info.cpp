#include "plugin/cli/entry/trace_info.h"

#include "core/base/text.h"
#include "core/record/loss_cause.h"
#include "core/trace/reader.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/say.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>

/// `megascope info TRACE`: what is in one trace file, without its calls.
namespace megascope::cli {
namespace {

/// Sums over the chunks of calls and annotations.
struct ChunkSums {
  std::uint64_t chunks = 0;
  std::uint64_t packed_chunks = 0;
  std::uint64_t stored_bytes = 0;    ///< of their contents
  std::uint64_t unpacked_bytes = 0;  ///< of the same contents, unpacked

  void add(const trace::TraceFile::Chunks& all) {
    for (const trace::TraceFile::Chunk& chunk : all) {
      ++chunks;
      packed_chunks += chunk.is_packed ? 1 : 0;
      stored_bytes += chunk.content.size();
      unpacked_bytes += chunk.word_count * sizeof(encoding::Word);
    }
  }
};

const char* state_text(EndState state) {
  switch (state) {
    case EndState::kFinalized:
      return "ended normally";
    case EndState::kAborted:
      return "ended by MPI_Abort";
    case EndState::kRecovered:
      return "recovered: its process was killed";
    case EndState::kRunning:
      break;
  }
  return "running, or killed";
}

void print_text(const std::string& path, const trace::TraceFile& trace, const ChunkSums& sums,
                std::uint64_t damaged) {
  const ProcessInfo& info = trace.definitions().info;
  std::string text = fmt::format(
      "{}: MegaScope trace, format version {}\nrank {} of {}, {}, {} threads\n"
      "{} chunks of records, {} of them packed: {} in the file, {} unpacked\n",
      printable(path), trace.format_version(), info.world_rank, info.world_size,
      state_text(info.end_state), trace.definitions().locations.size(), human_count(sums.chunks),
      human_count(sums.packed_chunks), human_bytes(sums.stored_bytes),
      human_bytes(sums.unpacked_bytes));
  if (damaged != 0)
    text += fmt::format("damaged: {} chunks or records cannot be read\n", human_count(damaged));
  std::fputs(text.c_str(), stdout);
}

void print_json(const trace::TraceFile& trace, const ChunkSums& sums, std::uint64_t damaged) {
  const ProcessInfo& info = trace.definitions().info;
  const nlohmann::ordered_json json = {{"format_version", trace.format_version()},
                                       {"rank", info.world_rank},
                                       {"world_size", info.world_size},
                                       {"state", state_text(info.end_state)},
                                       {"threads", trace.definitions().locations.size()},
                                       {"chunks", sums.chunks},
                                       {"packed_chunks", sums.packed_chunks},
                                       {"stored_bytes", sums.stored_bytes},
                                       {"unpacked_bytes", sums.unpacked_bytes},
                                       {"damaged", damaged}};
  std::puts(json.dump(2).c_str());
}

}  // namespace

int show_trace(const std::string& path, bool as_json) {
  std::unique_ptr<trace::TraceFile> trace;
  const Status status = trace::TraceFile::open(path, trace);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  ChunkSums sums;
  const ProcessDefinitions& process = trace->definitions();
  for (LocationId location = 0; location < process.locations.size(); ++location) {
    sums.add(trace->chunks(location));
    sums.add(trace->hook_chunks(location));
  }
  const std::uint64_t damaged = process.losses[static_cast<std::size_t>(LossCause::kDamaged)];
  if (as_json)
    print_json(*trace, sums, damaged);
  else
    print_text(path, *trace, sums, damaged);
  return kSuccess;
}

}  // namespace megascope::cli
