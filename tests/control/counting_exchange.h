#pragma once

#include "core/lifecycle/rank_mailbox.h"
#include "core/lifecycle/step_reduction.h"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace megascope::test {

/// Contributes nothing to blocks, and counts calls. Rank updates are texts.
struct CountingExchange final : StepReduction, RankMailbox {
  std::vector<std::string> to_send;
  std::vector<std::pair<int, std::string>> received;
  std::size_t received_bytes = 0;
  bool keeps_texts = true;
  std::atomic<int> progress_ticks{0};
  std::atomic<int> boundaries{0};
  std::uint64_t calls_ns = 0;

  bool begin(std::int64_t) noexcept override { return true; }
  std::vector<std::size_t> block_sizes(std::int32_t) override { return {8}; }
  std::size_t block_bytes() const noexcept override { return 8; }
  void fill(std::span<std::byte>) noexcept override { ++boundaries; }
  void fill_absent(std::span<std::byte>) const noexcept override {}
  void merge(const std::byte*, std::byte*) const noexcept override {}
  void handle(std::span<const std::byte>) noexcept override {}
  void apply(std::span<const std::byte>) noexcept override {}
  bool has_acknowledged() const noexcept override { return false; }
  void add_overhead(std::uint64_t, std::uint64_t) noexcept override {}
  void add_call_time(std::uint64_t ns) noexcept override { calls_ns += ns; }
  std::uint64_t progress_tick() noexcept override { return ++progress_ticks, 1; }
  std::vector<std::byte> take_rank_update() noexcept override {
    if (to_send.empty()) return {};
    const std::string text = to_send.front();
    to_send.erase(to_send.begin());
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
  }
  void receive(std::int32_t world_rank, std::span<const std::byte> rank_update) noexcept override {
    received_bytes += rank_update.size();
    if (keeps_texts)
      received.emplace_back(
          world_rank,
          std::string(reinterpret_cast<const char*>(rank_update.data()), rank_update.size()));
  }
  void stop(const char*) noexcept override {}
};

}  // namespace megascope::test
