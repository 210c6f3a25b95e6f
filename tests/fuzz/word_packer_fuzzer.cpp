// Any words are the same after packing and unpacking, and any bytes are refused or unpack to as
// many words as asked for.

#include "core/encoding/word_packer.h"
#include "core/encoding/word_unpacker.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using namespace megascope::encoding;

void pack_and_unpack(const std::vector<Word>& words, WordPacker::Content content) {
  static auto* const packer = new WordPacker;
  static auto* const unpacker = new WordUnpacker;
  std::vector<std::byte> bytes((words.size() + 1) * kMaxPackedRecordBytes);
  bytes.resize(packer->pack(words, content, bytes));
  bytes.shrink_to_fit();  // reading beyond the end is found
  std::vector<Word> again(words.size());
  if (!unpacker->unpack(bytes, again) || again != words) std::abort();
}

void unpack_bytes(const std::uint8_t* data, std::size_t size) {
  static auto* const unpacker = new WordUnpacker;
  if (size < 2) return;
  std::vector<Word> words(data[0] * 5U + data[1]);
  (void)unpacker->unpack({reinterpret_cast<const std::byte*>(data + 2), size - 2}, words);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Word> words(size / sizeof(Word));
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * sizeof(Word));
  pack_and_unpack(words, WordPacker::Content::kCalls);
  pack_and_unpack(words, WordPacker::Content::kHooks);
  unpack_bytes(data, size);
  return 0;
}
