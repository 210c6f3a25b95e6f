#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace megascope::cli {

/// Counts records over all members of a fork group and shows count and rate on standard error if
/// that is a terminal. Create it before forking.
class Progress {
 public:
  /// what: label before the figures, e.g. "otf2".
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Returns a callback for the ExportJob of one member. The callback adds calls to the sum over
  /// all members. is_first: true for member 0, whose callback also displays the sum. The callback
  /// refers to this object.
  std::function<void(std::uint64_t)> reporter(bool is_first);
  /// Removes the display.
  void clear();

  std::uint64_t call_count() const {
    return calls_ != nullptr ? calls_->load(std::memory_order_relaxed) : 0;
  }
  double elapsed_s() const;
  /// The figures as text: "12.3 M calls, 4.5 M/s".
  std::string figures() const;

 private:
  void add(std::uint64_t calls, bool is_first);

  std::string what_;
  std::atomic<std::uint64_t>* calls_ = nullptr;  ///< in memory shared by the processes
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
  bool is_terminal_ = false;
  bool is_shown_ = false;
};

}  // namespace megascope::cli
