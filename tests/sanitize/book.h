#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace megascope::sanitize {

/// What one thread has called, in its own words. A thread has its own, so that keeping it orders
/// nothing between threads.
class Book {
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
  void merge(const Book& other) {
    for (const auto& [function, count] : other.counts_) counts_[function] += count;
    sent(other.messages_, other.bytes_);
  }

  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, std::uint64_t> counts_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

/// CALL(book, Send, …) calls MPI_Send and writes it down. Its value is the return code.
#define CALL(book, name, ...) (book).add("MPI_" #name, MPI_##name(__VA_ARGS__))

}  // namespace megascope::sanitize
