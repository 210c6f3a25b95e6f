#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace megascope::cli {

/// Counts calls over all members of a fork group and shows count and rate on stderr while it is a
/// terminal. Make it before the group is forked.
class Progress {
 public:
  /// what: "otf2", in front of the figures.
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// For a member's ExportJob or fold: adds calls; member 0 shows the sum. Refers to this object.
  std::function<void(std::uint64_t)> reporter(bool is_first);
  /// Removes what is shown.
  void clear();

  std::uint64_t call_count() const {
    return calls_ != nullptr ? calls_->load(std::memory_order_relaxed) : 0;
  }
  double elapsed_s() const;
  /// "12.3 M calls, 4.5 M/s".
  std::string figures() const;

 private:
  void add(std::uint64_t calls, bool is_first);

  std::string what_;
  std::atomic<std::uint64_t>* calls_ = nullptr;  ///< shared between the processes
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
  bool is_terminal_ = false;
  bool is_shown_ = false;
};

}  // namespace megascope::cli
