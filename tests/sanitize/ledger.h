#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

namespace megascope::sanitize {

/// What one thread has called, in its own words. A thread has its own, so that keeping it orders
/// nothing between threads.
class Ledger {
 public:
  /// Around a call: `book.add("MPI_Barrier", MPI_Barrier(comm))`. Hands the return code on.
  int add(const char* function, int rc) {
    ++counts_[function];
    return rc;
  }
  /// Messages that have been sent, not to MPI_PROC_NULL.
  void sent(std::uint64_t messages, std::uint64_t bytes) {
    messages_ += messages;
    bytes_ += bytes;
  }
  /// Bytes that the call has read from a file, or written to one: `book.read("MPI_File_read", rc,
  /// 40)`.
  void read(const std::string& function, int rc, std::uint64_t bytes) {
    if (rc == 0) file_bytes_["read:" + function] += bytes;
  }
  void wrote(const std::string& function, int rc, std::uint64_t bytes) {
    if (rc == 0) file_bytes_["wrote:" + function] += bytes;
  }
  void merge(const Ledger& other) {
    for (const auto& [what, bytes] : other.file_bytes_) file_bytes_[what] += bytes;
    for (const auto& [function, count] : other.counts_) counts_[function] += count;
    sent(other.messages_, other.bytes_);
  }

  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  /// "read:MPI_File_read" …
  const std::map<std::string, std::uint64_t>& file_bytes() const { return file_bytes_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, std::uint64_t> counts_;
  std::map<std::string, std::uint64_t> file_bytes_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

/// One line a function: name, calls; then a line each for bytes of files, "messages" and "bytes"
/// sent.
inline bool write_ledger(const Ledger& ledger, const std::string& path) {
  std::ofstream file(path);
  for (const auto& [function, count] : ledger.counts()) file << function << ' ' << count << '\n';
  for (const auto& [what, bytes] : ledger.file_bytes()) file << what << ' ' << bytes << '\n';
  file << "messages " << ledger.messages() << "\nbytes " << ledger.bytes() << '\n';
  file.close();
  return file.good();
}

/// CALL(book, Send, …) calls MPI_Send and writes it down. Its value is the return code.
#define CALL(ledger, name, ...) (ledger).add("MPI_" #name, MPI_##name(__VA_ARGS__))

}  // namespace megascope::sanitize
