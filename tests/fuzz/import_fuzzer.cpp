// Any text is a timeline or is refused with a sentence, as a Chrome trace, as a directory of
// MegaScan's, as files of PyTorch's profiler, and as a table of operations; what is accepted
// becomes a run whose operations are all there, each inside the run. Seeds:
// tests/fuzz/import_seeds.

#include "analysis/import/chrome_timeline.h"
#include "analysis/import/megascan_timeline.h"
#include "analysis/import/mend.h"
#include "analysis/import/pytorch_timeline.h"
#include "analysis/import/source_kind.h"
#include "analysis/import/timeline_run.h"
#include "tests/support/temporary_directory.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace {

using namespace megascope;
using importer::OperationTable;
using importer::ParallelGrid;
using importer::Timeline;
using importer::TimelineRun;

const OperationTable& shipped() {
  static const OperationTable kTable = [] {
    OperationTable table;
    if (!OperationTable::parse(OperationTable::shipped(), table).is_ok()) std::abort();
    return table;
  }();
  return kTable;
}

void try_run(Timeline timeline, const OperationTable& table) {
  timeline.source = "fuzzer";
  importer::mend(timeline);
  const std::size_t operation_count = timeline.operations.size();
  ParallelGrid grid;
  std::unique_ptr<TimelineRun> run;
  // A world as wide as this is allowed, and takes a fuzzer too long.
  if (!ParallelGrid::around(timeline, grid).is_ok() || grid.size() > 1 << 16) return;
  if (!TimelineRun::make(std::move(timeline), grid, table, run).is_ok()) return;
  std::size_t call_count = 0;
  for (const std::int32_t rank : run->world_ranks()) {
    for (const LocationDefinition& location : run->process(rank).locations) {
      const auto calls = run->calls(rank, location.id);
      std::uint64_t last_ns = 0;
      for (Call call; calls->next(call); ++call_count) {
        if (call.enter_ns < last_ns || call.leave_ns < call.enter_ns ||
            call.leave_ns > run->end_ns())
          std::abort();
        if (run->process(rank).region(call.region) == nullptr) std::abort();
        last_ns = call.enter_ns;
      }
    }
  }
  if (call_count != operation_count) std::abort();
}

void try_chrome(const std::string& text) {
  std::istringstream from(text);
  Timeline timeline;
  if (importer::read_chrome(from, timeline).is_ok()) try_run(std::move(timeline), shipped());
}

void try_megascan(const std::string& text) {
  static const test::TemporaryDirectory kDirectory;
  for (const char* name :
       {"benchmark-data-0-pipeline-0-tensor-0.json", "benchmark-data-0-pipeline-1-tensor-0.json"}) {
    std::ofstream(kDirectory / name, std::ios::binary) << text;
  }
  Timeline timeline;
  if (importer::read_megascan(kDirectory.path(), timeline).is_ok())
    try_run(std::move(timeline), shipped());
}

/// The same file of two ranks.
void try_pytorch(const std::string& text) {
  static const test::TemporaryDirectory kDirectory;
  for (const char* name : {"rank-0.json", "rank-1.json"})
    std::ofstream(kDirectory / name, std::ios::binary) << text;
  (void)importer::format_of({kDirectory / "rank-0.json"});
  Timeline timeline;
  if (importer::read_pytorch({kDirectory.path()}, timeline).is_ok())
    try_run(std::move(timeline), shipped());
}

void try_table(const std::string& text) {
  OperationTable table;
  if (!OperationTable::parse(text, table).is_ok()) return;
  Timeline timeline;
  timeline.tracks = {{.coordinates = {.pp = 0}, .stream = "a"},
                     {.coordinates = {.pp = 1}, .stream = "b"}};
  for (const char* name : {"a", "forward-send", "forward-recv"}) {
    for (const std::uint32_t track : {0U, 1U}) {
      timeline.operations.push_back({.begin_ns = 1,
                                     .end_ns = 2,
                                     .name = timeline.name_index(name),
                                     .track = track,
                                     .step = 0});
    }
  }
  try_run(std::move(timeline), table);
}

void try_sizes(const std::string& text) {
  ParallelGrid grid;
  if (ParallelGrid::parse(text, grid).is_ok() && grid.size() < 1) std::abort();
}

}  // namespace

/// The first byte chooses the reader.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size_bytes) {
  if (size_bytes == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(bytes) + 1, size_bytes - 1);
  switch (bytes[0]) {
    case 'c':
      try_chrome(text);
      break;
    case 'm':
      try_megascan(text);
      break;
    case 'p':
      try_pytorch(text);
      break;
    case 't':
      try_table(text);
      break;
    case 's':
      try_sizes(text);
      break;
    default:
      break;
  }
  return 0;
}
