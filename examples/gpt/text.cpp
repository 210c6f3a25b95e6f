#include "text.h"

#include "kernels.h"
#include "refusal.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace gpt {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 28;

/// Returns the error, or an empty text.
std::string read_file(const std::string& path, int sequence, std::string& bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return path + ": " + std::strerror(errno);
  std::string block(std::size_t{1} << 20, '\0');
  while (file && bytes.size() <= kMaxBytes) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    bytes.append(block, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return path + ": cannot be read";
  if (bytes.size() > kMaxBytes) return path + ": more than 256 MiB";
  if (bytes.size() <= static_cast<std::size_t>(sequence))
    return path + ": " + std::to_string(bytes.size()) + " bytes are too few for sequences of " +
           std::to_string(sequence);
  return {};
}

}  // namespace

Text::Text(const std::string& path, int sequence) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  refuse_together(rank == 0 ? read_file(path, sequence, bytes_) : std::string());
  broadcast(bytes_);
}

void Text::read(std::uint64_t seed, int step, int first, const Rows& rows, Bytes* inputs,
                Bytes* targets) const {
  const auto length = static_cast<std::size_t>(rows.length);
  const char* begin = bytes_.data();
  for (Bytes* part : {inputs, targets})
    if (part != nullptr) part->clear();
  for (int i = 0; i < rows.sequences; ++i) {
    const std::uint64_t number = hash(seed, static_cast<std::uint64_t>(step),
                                      static_cast<std::uint64_t>(first + i));
    const char* from = begin + number % (bytes_.size() - length);
    if (inputs != nullptr) inputs->insert(inputs->end(), from, from + length);
    if (targets != nullptr) targets->insert(targets->end(), from + 1, from + 1 + length);
  }
}

}  // namespace gpt
