#include "tests/mpi/packed_again.h"

#include "core/encoding/word_packer.h"
#include "core/encoding/word_unpacker.h"
#include "core/trace/chunk_words.h"
#include "core/trace/reader.h"
#include "core/trace/run_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

namespace megascope::mpitest {
namespace {

using encoding::WordPacker;

void expect_same(const trace::TraceFile::Chunk& chunk, WordPacker::Content content) {
  static WordPacker packer;
  static encoding::WordUnpacker unpacker;
  trace::ChunkWords reader;
  const auto read = reader.read(chunk);
  const std::vector<encoding::Word> words(read.begin(), read.end());
  EXPECT_EQ(words.size(), chunk.word_count);
  std::vector<std::byte> bytes((words.size() + 1) * encoding::kMaxPackedRecordBytes);
  bytes.resize(packer.pack(words, content, bytes));
  std::vector<encoding::Word> again(words.size());
  EXPECT_TRUE(unpacker.unpack(bytes, again));
  EXPECT_EQ(again, words);
}

}  // namespace

void expect_same_when_packed(const std::string& directory) {
  std::size_t chunk_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!trace::is_trace_file_name(entry.path().filename().string())) continue;
    std::unique_ptr<trace::TraceFile> trace;
    const Status status = trace::TraceFile::open(entry.path().string(), trace);
    ASSERT_TRUE(status.is_ok()) << status.message();
    for (const LocationDefinition& location : trace->definitions().locations) {
      for (const auto& chunk : trace->chunks(location.id)) {
        expect_same(chunk, WordPacker::Content::kCalls);
        ++chunk_count;
      }
      for (const auto& chunk : trace->hook_chunks(location.id))
        expect_same(chunk, WordPacker::Content::kHooks);
    }
  }
  EXPECT_GT(chunk_count, 0u);
}

}  // namespace megascope::mpitest
