#include "plugin/live/hub/subscription.h"
#include "plugin/live/protocol/frames.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

/// Frames of data by step: times, counters, statistics.
namespace megascope::live {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& metadata) {
  return metadata.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The part of a log that fits into one frame: a matrix of steps and ids.
struct Matrix {
  std::vector<std::int64_t> steps;   ///< ascending
  std::vector<std::uint32_t> ids;    ///< ascending
  std::vector<std::size_t> entries;  ///< indices in the log
  std::uint64_t end = 0;             ///< number of the first entry after it

  bool is_full(std::size_t cell_bytes) const {
    return steps.size() * ids.size() * cell_bytes >= kSeriesFrameBytes;
  }
};

template <class Value>
std::size_t index_of(const std::vector<Value>& ascending, Value value) {
  return static_cast<std::size_t>(std::ranges::lower_bound(ascending, value) - ascending.begin());
}
template <class Value>
void add_once(std::vector<Value>& ascending, Value value) {
  const std::size_t at = index_of(ascending, value);
  if (at == ascending.size() || ascending[at] != value)
    ascending.insert(ascending.begin() + static_cast<std::ptrdiff_t>(at), value);
}

/// Collects entries with numbers in [first, end) for which is_wanted(entry, number) holds.
template <class Log, class Wanted>
Matrix collect(const Log& log, std::uint64_t first, std::uint64_t end, std::size_t cell_bytes,
               Wanted is_wanted) {
  Matrix matrix;
  for (std::size_t i = log.index_of(first); i < log.size() && log.number_at(i) < end; ++i) {
    matrix.end = log.number_at(i);
    if (matrix.is_full(cell_bytes)) return matrix;
    const auto& entry = log.entry(i);
    if (!is_wanted(entry, matrix.end)) continue;
    add_once(matrix.ids, entry.id);
    add_once(matrix.steps, entry.step);
    matrix.entries.push_back(i);
  }
  matrix.end = std::max(first, end);
  return matrix;
}

/// Builds a frame with columns of float64[steps][ids].
template <std::size_t columns, class Log, class Value>
std::vector<std::byte> matrix_frame(const FrameHead& head, Json metadata, const Log& log,
                                    const Matrix& matrix, Value value) {
  const std::size_t cells = matrix.steps.size() * matrix.ids.size();
  metadata["step"] = matrix.steps.back();
  metadata["steps"] = matrix.steps.size();
  metadata["count"] = matrix.ids.size();
  std::vector<double> values(columns * cells, std::numeric_limits<double>::quiet_NaN());
  for (const std::size_t index : matrix.entries) {
    const auto& entry = log.entry(index);
    const std::size_t cell = index_of(matrix.steps, entry.step) * matrix.ids.size() +
                             index_of(matrix.ids, entry.id);
    for (std::size_t column = 0; column < columns; ++column)
      values[column * cells + cell] = value(entry, column);
  }
  Frame frame(head, text_of(metadata),
              matrix.steps.size() * 8 + rounded_up(matrix.ids.size() * 4) + values.size() * 8);
  frame.add_array(std::span<const std::int64_t>(matrix.steps));
  frame.add_array(std::span<const std::uint32_t>(matrix.ids));
  frame.add_array(std::span<const double>(values));
  return frame.take();
}

constexpr std::size_t kStatisticsBytes = kStatisticsColumns.size() * sizeof(double);

std::vector<std::byte> statistics_frame(const FrameHead& head, Json metadata,
                                        const Log<StatisticsEntry>& log, const Matrix& matrix) {
  metadata["columns"] = kStatisticsColumns;
  return matrix_frame<kStatisticsColumns.size()>(
      head, std::move(metadata), log, matrix,
      [](const StatisticsEntry& entry, std::size_t column) { return entry.values[column]; });
}

}  // namespace

FrameHead Subscription::head_of(FrameKind kind, std::uint32_t frame_number) const {
  return {.kind = kind, .has_loss = has_loss_, .number = frame_number};
}

nlohmann::json Subscription::metadata_of_series() const {
  return {{"panel", request_.subscription}, {"dropped", dropped_}};
}

template <class Entry>
void Subscription::skip_lost(const Log<Entry>& log) {
  if (next_entry_ >= log.first()) return;
  next_entry_ = log.first();
  lose(1);  // at least part of a frame is lost
}

std::optional<std::vector<std::byte>> Subscription::next_steps(const Store& store,
                                                               std::uint32_t frame_number) {
  const Log<StepEntry>& log = store.history.steps;
  skip_lost(log);
  if (next_entry_ >= log.end()) return std::nullopt;
  const std::size_t row_bytes = 16 + kTimeColumns.size() * store.ranks * sizeof(float);
  const auto count = std::min<std::size_t>(log.end() - next_entry_,
                                           std::max<std::size_t>(1, kSeriesFrameBytes / row_bytes));
  Json metadata{{"panel", request_.subscription},
                {"dropped", dropped_},
                {"step", log.at(next_entry_ + count - 1).step},
                {"steps", count},
                {"ranks", store.ranks},
                {"columns", kTimeColumns}};
  if (store.has_intervals) metadata["interval_ms"] = capture::kIntervalMs;
  std::vector<std::int64_t> steps;
  std::vector<double> begins;
  for (std::uint64_t i = next_entry_; i < next_entry_ + count; ++i) {
    steps.push_back(log.at(i).step);
    begins.push_back(log.at(i).begin_ms);
  }
  const std::size_t column_bytes = count * store.ranks * sizeof(float);
  Frame frame({.kind = FrameKind::kSteps, .has_loss = has_loss_, .number = frame_number},
              text_of(metadata), count * 16 + kTimeColumns.size() * rounded_up(column_bytes));
  frame.add_array(std::span<const std::int64_t>(steps));
  frame.add_array(std::span<const double>(begins));
  for (std::size_t column = 0; column < kTimeColumns.size(); ++column) {
    std::byte* at = frame.next_array(column_bytes);
    for (std::uint64_t i = next_entry_; i < next_entry_ + count;
         ++i, at += store.ranks * sizeof(float))
      std::memcpy(at, log.at(i).times.data() + column * store.ranks, store.ranks * sizeof(float));
  }
  next_entry_ += count;
  return frame.take();
}

std::optional<std::vector<std::byte>> Subscription::next_counters(const Store& store,
                                                                  std::uint32_t frame_number) {
  const CounterLog& log = store.history.counters;
  const auto is_wanted = [&](const CounterEntry& entry, std::uint64_t) {
    Match& match = match_of(entry.id);
    if (match == Match::kUnknown)
      match = store.counters.matches(entry.id, request_) ? Match::kYes : Match::kNo;
    return match == Match::kYes && entry.step >= request_.since;
  };
  const Matrix matrix = collect(log, next_entry_, log.end(), sizeof(double), is_wanted);
  next_entry_ = matrix.end;
  if (matrix.entries.empty()) return std::nullopt;
  return matrix_frame<1>(head_of(FrameKind::kCounters, frame_number), metadata_of_series(), log,
                         matrix,
                         [](const CounterEntry& entry, std::size_t) { return entry.value; });
}

/// A frame with the complete call table; earlier states are skipped. next_entry_ is the version
/// that was sent.
std::optional<std::vector<std::byte>> Subscription::next_calls(const Store& store,
                                                               std::uint32_t frame_number) {
  const CallTable& calls = store.calls;
  if (calls.version() == next_entry_) return std::nullopt;
  next_entry_ = calls.version();
  Json names = Json::array();
  std::vector<double> sums;
  for (const CallTable::Function& function : calls.functions()) names.push_back(function.name);
  for (const auto which : {&CallTable::Function::total, &CallTable::Function::newest}) {
    for (const CallTable::Function& function : calls.functions())
      sums.push_back(static_cast<double>((function.*which).calls));
    for (const CallTable::Function& function : calls.functions())
      sums.push_back((function.*which).time_ms);
    for (const CallTable::Function& function : calls.functions())
      sums.push_back(static_cast<double>((function.*which).bytes_sent));
    for (const CallTable::Function& function : calls.functions())
      sums.push_back(static_cast<double>((function.*which).bytes_received));
  }
  for (const CallTable::Rank& rank : calls.ranks()) sums.push_back(rank.elapsed_ms);
  for (const CallTable::Rank& rank : calls.ranks()) sums.push_back(rank.mpi_ms);
  sums.insert(sums.end(), calls.bytes().begin(), calls.bytes().end());
  sums.insert(sums.end(), calls.messages().begin(), calls.messages().end());
  Json metadata = metadata_of_series();
  metadata["step"] = calls.newest();
  metadata["functions"] = std::move(names);
  metadata["ranks"] = calls.ranks().size();
  metadata["cells"] = calls.cells();
  metadata["cell_ranks"] = calls.cell_ranks();
  metadata["interval_ms"] = capture::kIntervalMs;
  Frame frame(head_of(FrameKind::kCalls, frame_number), text_of(metadata),
              sums.size() * sizeof(double));
  frame.add_array(std::span<const double>(sums));
  return frame.take();
}

Subscription::Match& Subscription::match_of(std::uint32_t id) {
  if (match_.size() <= id) match_.resize(id + std::size_t{1}, Match::kUnknown);
  return match_[id];
}

std::optional<std::vector<std::byte>> Subscription::next_statistics(const Store& store,
                                                                    std::uint32_t frame_number) {
  const Log<StatisticsEntry>& log = store.history.statistics;
  if (late_entry_ >= late_end_) look_for_names(store);
  if (std::optional<std::vector<std::byte>> frame = next_late_statistics(store, frame_number))
    return frame;
  skip_lost(log);
  const auto is_wanted = [&](const StatisticsEntry& entry, std::uint64_t number) {
    Match& match = match_of(entry.id);
    if (match == Match::kUnknown)
      match = !store.tensors[entry.id].is_named           ? Match::kUnnamed
              : store.tensors.matches(entry.id, request_) ? Match::kYes
                                                          : Match::kNo;
    if (match == Match::kUnnamed) first_unnamed_ = std::min(first_unnamed_, number);
    return match == Match::kYes;
  };
  const Matrix matrix = collect(log, next_entry_, log.end(), kStatisticsBytes, is_wanted);
  next_entry_ = matrix.end;
  if (matrix.entries.empty()) return std::nullopt;
  return statistics_frame(head_of(FrameKind::kStatistics, frame_number), metadata_of_series(), log,
                          matrix);
}

/// Schedules the skipped entries of tensors whose names have arrived. They are sent before newer
/// ones.
void Subscription::look_for_names(const Store& store) {
  if (first_unnamed_ == kNone || names_seen_ == store.tensors.learned().size()) return;
  names_seen_ = store.tensors.learned().size();
  bool has_late = false;
  bool has_unnamed = false;
  for (std::uint32_t id = 0; id < match_.size(); ++id) {
    if (match_[id] != Match::kUnnamed) continue;
    if (!store.tensors[id].is_named)
      has_unnamed = true;
    else
      match_[id] = store.tensors.matches(id, request_) ? Match::kLate : Match::kNo;
    has_late |= match_[id] == Match::kLate;
  }
  late_entry_ = has_late ? first_unnamed_ : next_entry_;
  late_end_ = next_entry_;
  if (!has_unnamed) first_unnamed_ = kNone;
}

std::optional<std::vector<std::byte>> Subscription::next_late_statistics(
    const Store& store, std::uint32_t frame_number) {
  const Log<StatisticsEntry>& log = store.history.statistics;
  if (late_entry_ >= late_end_) return std::nullopt;
  if (late_entry_ < log.first()) lose(1);
  const auto is_wanted = [&](const StatisticsEntry& entry, std::uint64_t) {
    return match_of(entry.id) == Match::kLate;
  };
  const Matrix matrix = collect(log, late_entry_, late_end_, kStatisticsBytes, is_wanted);
  late_entry_ = matrix.end;
  if (late_entry_ >= late_end_) std::ranges::replace(match_, Match::kLate, Match::kYes);
  if (matrix.entries.empty()) return std::nullopt;
  return statistics_frame(head_of(FrameKind::kStatistics, frame_number), metadata_of_series(), log,
                          matrix);
}

}  // namespace megascope::live
