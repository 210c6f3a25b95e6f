#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "plugin/live/frames.h"
#include "plugin/live/panel.h"

/// Frames of what is told step by step: times, counters, statistics.
namespace megascope::live {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& metadata) { return metadata.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// What fits into a frame of a log's entries: a matrix of steps and ids.
struct Matrix {
  std::vector<std::int64_t> steps;  ///< ascending
  std::vector<std::uint32_t> ids;   ///< ascending
  std::vector<std::uint64_t> entries;
  std::uint64_t end = 0;            ///< the first entry that is not in it

  bool is_full(std::size_t cell_bytes) const { return steps.size() * ids.size() * cell_bytes >= kSeriesFrameBytes; }
};

template <class Value>
std::size_t place_of(const std::vector<Value>& ascending, Value value) {
  return static_cast<std::size_t>(std::ranges::lower_bound(ascending, value) - ascending.begin());
}
template <class Value>
void add_once(std::vector<Value>& ascending, Value value) {
  const std::size_t at = place_of(ascending, value);
  if (at == ascending.size() || ascending[at] != value) ascending.insert(ascending.begin() + static_cast<std::ptrdiff_t>(at), value);
}

/// matches: of an id, remembered in is_match once it is known.
template <class Entry, class Matches>
Matrix collect(const Log<Entry>& log, std::uint64_t first, std::size_t cell_bytes, std::vector<std::int8_t>& is_match, Matches matches) {
  Matrix matrix;
  matrix.end = first;
  while (matrix.end < log.end() && !matrix.is_full(cell_bytes)) {
    const Entry& entry = log.at(matrix.end);
    if (is_match.size() <= entry.id) is_match.resize(entry.id + std::size_t{1}, std::int8_t{-1});
    if (is_match[entry.id] < 0) is_match[entry.id] = matches(entry.id);
    if (is_match[entry.id] == 1) {
      add_once(matrix.ids, entry.id);
      add_once(matrix.steps, entry.step);
      matrix.entries.push_back(matrix.end);
    }
    ++matrix.end;
  }
  return matrix;
}

/// columns of float64[steps][ids].
template <std::size_t columns, class Entry, class Value>
std::vector<std::byte> matrix_frame(const FrameHead& head, Json metadata, const Log<Entry>& log, const Matrix& matrix, Value value) {
  const std::size_t cells = matrix.steps.size() * matrix.ids.size();
  metadata["step"] = matrix.steps.back();
  metadata["steps"] = matrix.steps.size();
  metadata["count"] = matrix.ids.size();
  std::vector<double> values(columns * cells, std::numeric_limits<double>::quiet_NaN());
  for (const std::uint64_t number : matrix.entries) {
    const Entry& entry = log.at(number);
    const std::size_t cell = place_of(matrix.steps, entry.step) * matrix.ids.size() + place_of(matrix.ids, entry.id);
    for (std::size_t column = 0; column < columns; ++column) values[column * cells + cell] = value(entry, column);
  }
  Frame frame(head, text_of(metadata), matrix.steps.size() * 8 + rounded_up(matrix.ids.size() * 4) + values.size() * 8);
  frame.add_array(std::span<const std::int64_t>(matrix.steps));
  frame.add_array(std::span<const std::uint32_t>(matrix.ids));
  frame.add_array(std::span<const double>(values));
  return frame.take();
}

}  // namespace

template <class Entry>
void Panel::skip_lost(const Log<Entry>& log) {
  if (next_entry_ >= log.first()) return;
  next_entry_ = log.first();
  lose(1);  // what would have been a frame, or a part of one
}

std::optional<std::vector<std::byte>> Panel::next_steps(const Store& store, std::uint32_t frame_number) {
  const Log<StepEntry>& log = store.history.steps;
  skip_lost(log);
  if (next_entry_ >= log.end()) return std::nullopt;
  const std::size_t row_bytes = 16 + kTimeColumns.size() * store.ranks * sizeof(float);
  const auto count = std::min<std::size_t>(log.end() - next_entry_, std::max<std::size_t>(1, kSeriesFrameBytes / row_bytes));
  Json metadata{{"panel", request_.panel}, {"dropped", dropped_}, {"step", log.at(next_entry_ + count - 1).step}, {"steps", count},
                {"ranks", store.ranks}, {"columns", kTimeColumns}};
  if (store.has_intervals) metadata["interval_ms"] = tensors::kIntervalMs;
  std::vector<std::int64_t> steps;
  std::vector<double> begins;
  for (std::uint64_t i = next_entry_; i < next_entry_ + count; ++i) {
    steps.push_back(log.at(i).step);
    begins.push_back(log.at(i).begin_ms);
  }
  const std::size_t column_bytes = count * store.ranks * sizeof(float);
  Frame frame({.kind = FrameKind::kSteps, .has_loss = has_loss_, .number = frame_number}, text_of(metadata),
              count * 16 + kTimeColumns.size() * rounded_up(column_bytes));
  frame.add_array(std::span<const std::int64_t>(steps));
  frame.add_array(std::span<const double>(begins));
  for (std::size_t column = 0; column < kTimeColumns.size(); ++column) {
    std::byte* at = frame.next_array(column_bytes);
    for (std::uint64_t i = next_entry_; i < next_entry_ + count; ++i, at += store.ranks * sizeof(float))
      std::memcpy(at, log.at(i).times.data() + column * store.ranks, store.ranks * sizeof(float));
  }
  next_entry_ += count;
  return frame.take();
}

std::optional<std::vector<std::byte>> Panel::next_counters(const Store& store, std::uint32_t frame_number) {
  const Log<CounterEntry>& log = store.history.counters;
  skip_lost(log);
  const auto matches = [&](std::uint32_t id) { return static_cast<std::int8_t>(store.counters.matches(id, request_) ? 1 : 0); };
  const Matrix matrix = collect(log, next_entry_, sizeof(double), is_match_, matches);
  next_entry_ = matrix.end;
  if (matrix.entries.empty()) return std::nullopt;
  return matrix_frame<1>({.kind = FrameKind::kCounters, .has_loss = has_loss_, .number = frame_number}, {{"panel", request_.panel}, {"dropped", dropped_}},
                         log, matrix, [](const CounterEntry& entry, std::size_t) { return entry.value; });
}

std::optional<std::vector<std::byte>> Panel::next_statistics(const Store& store, std::uint32_t frame_number) {
  const Log<StatisticsEntry>& log = store.history.statistics;
  skip_lost(log);
  // A tensor without a name may get one: it is asked for again.
  const auto matches = [&](std::uint32_t id) {
    return static_cast<std::int8_t>(!store.tensors[id].is_named ? -1 : store.tensors.matches(id, request_) ? 1 : 0);
  };
  const Matrix matrix = collect(log, next_entry_, kStatisticsColumns.size() * sizeof(double), is_match_, matches);
  next_entry_ = matrix.end;
  if (matrix.entries.empty()) return std::nullopt;
  return matrix_frame<kStatisticsColumns.size()>({.kind = FrameKind::kStatistics, .has_loss = has_loss_, .number = frame_number},
                                                 {{"panel", request_.panel}, {"dropped", dropped_}, {"columns", kStatisticsColumns}}, log, matrix,
                                                 [](const StatisticsEntry& entry, std::size_t column) { return entry.values[column]; });
}

}  // namespace megascope::live
