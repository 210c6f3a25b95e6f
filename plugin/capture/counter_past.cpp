#include "plugin/capture/counter_past.h"

#include <algorithm>
#include <bit>

namespace megascope::capture {

void CounterPast::share_with(std::size_t ranks) {
  max_ = kMaxOfAllRanks / std::max<std::size_t>(ranks, 1);
  make_space();
}

CounterPast::Counter& CounterPast::at(CounterId counter) {
  if (counter >= counters_.size()) counters_.resize(counter + std::size_t{1});
  return counters_[counter];
}

void CounterPast::set(CounterId id, std::int64_t step, double value) {
  Counter& counter = at(id);
  if (counter.set_count == 0) {
    ++used_;
    make_space();
  }
  if (counter.has_new && step != counter.newest.step && is_newest_kept(counter))
    counter.live = kNone;  // the previous value was never sent
  keep(counter, {step, value});
  ++counter.set_count;
  counter.newest = {step, value};
  counter.has_new = true;
}

void CounterPast::keep(Counter& counter, const Sample& sample) const {
  std::vector<Sample>& kept = counter.kept;
  if (!kept.empty() && kept.back().step == sample.step) {
    kept.back().value = sample.value;
    return;
  }
  if ((!kept.empty() && kept.back().step > sample.step) || counter.set_count % counter.stride != 0)
    return;
  if (kept.size() == kept.capacity())
    kept.reserve(std::min(std::max<std::size_t>(2 * kept.size(), 4), max_of_one_ + 1));
  kept.push_back(sample);
  thin(counter);
}

void CounterPast::make_space() {
  const std::size_t most = std::bit_floor(
      std::clamp<std::size_t>(max_ / std::max<std::size_t>(used_, 1), 1, kMaxOfOne));
  if (most == max_of_one_) return;
  max_of_one_ = most;
  for (Counter& counter : counters_) {
    thin(counter);
    if (counter.kept.capacity() > most + 1) counter.kept.shrink_to_fit();
  }
}

void CounterPast::thin(Counter& counter) const {
  std::vector<Sample>& kept = counter.kept;
  while (kept.size() > max_of_one_) {
    for (std::size_t i = 0; 2 * i < kept.size(); ++i) kept[i] = kept[2 * i];
    kept.resize((kept.size() + 1) / 2);
    counter.stride *= 2;
  }
}

std::vector<CounterId> CounterPast::unknown() const {
  std::vector<CounterId> ids;
  for (CounterId id = 0; id < counters_.size(); ++id) {
    if (counters_[id].set_count != 0 && !counters_[id].is_known) ids.push_back(id);
  }
  return ids;
}

void CounterPast::want(CounterId id, bool is_wanted) {
  Counter& counter = counters_[id];
  counter.is_known = true;
  if (is_wanted != counter.is_wanted) counter.live = kNone;
  counter.is_wanted = is_wanted;
}

void CounterPast::forget_capture_requests() {
  for (Counter& counter : counters_) counter.is_known = false;
}

void CounterPast::name_again() {
  for (Counter& counter : counters_) counter.is_known = counter.is_named = false;
}

void CounterPast::report_again(std::int64_t first_step) {
  for (Counter& counter : counters_) {
    counter.reported = std::min(counter.reported, first_step - 1);
    counter.live = kNone;
    counter.has_new = counter.has_new || counter.newest.step >= first_step;
  }
}

std::span<const CounterPast::Sample> CounterPast::unsent(const Counter& counter) {
  if (counter.kept.empty() || counter.kept.back().step <= counter.reported) return {};
  const auto first = std::ranges::upper_bound(counter.kept, counter.reported, {}, &Sample::step);
  return {first,
          std::ranges::lower_bound(first, counter.kept.end(), counter.live, {}, &Sample::step)};
}

void CounterPast::put(RankUpdateWriter& rank_update) {
  put_new(rank_update);
  put_past(rank_update);
}

void CounterPast::put_new(RankUpdateWriter& rank_update) {
  std::map<std::int64_t, CounterReadings> by_step;
  for (CounterId id = 0; id < counters_.size(); ++id) {
    Counter& counter = counters_[id];
    if (!counter.has_new || !is_shown(counter)) continue;
    CounterReadings& readings = by_step[counter.newest.step];
    readings.ids.push_back(id);
    readings.values.push_back(counter.newest.value);
  }
  for (auto& [step, readings] : by_step) {
    readings.step = step;
    if (!rank_update.add(readings)) continue;  // stays queued, unless a newer value replaces it
    for (const CounterId id : readings.ids) {
      Counter& counter = counters_[id];
      counter.has_new = false;
      counter.live = std::min(counter.live, step);
      if (unsent(counter).empty()) counter.reported = std::max(counter.reported, step);
    }
  }
}

/// Selects equally many values of every counter with unsent values, so that curves grow together.
std::map<std::int64_t, CounterReadings> CounterPast::oldest_unsent() const {
  std::vector<CounterId> behind;
  for (CounterId id = 0; id < counters_.size() && behind.size() < kMaxInARankUpdate; ++id) {
    if (is_shown(counters_[id]) && !unsent(counters_[id]).empty()) behind.push_back(id);
  }
  std::map<std::int64_t, CounterReadings> by_step;
  for (const CounterId id : behind) {
    const std::span<const Sample> samples = unsent(counters_[id]);
    for (const Sample& sample :
         samples.first(std::min(samples.size(), kMaxInARankUpdate / behind.size()))) {
      CounterReadings& readings = by_step[sample.step];
      readings.ids.push_back(id);
      readings.values.push_back(sample.value);
    }
  }
  return by_step;
}

void CounterPast::put_past(RankUpdateWriter& rank_update) {
  for (auto& [step, readings] : oldest_unsent()) {
    PastReadings past{{.step = step, .ids = readings.ids, .values = readings.values}};
    if (!rank_update.add(past)) return;
    for (const CounterId id : readings.ids) {
      Counter& counter = counters_[id];
      counter.reported = step;
      if (counter.live != kNone && unsent(counter).empty())
        counter.reported = std::max(step, counter.has_new ? counter.live : counter.newest.step);
    }
  }
}

}  // namespace megascope::capture
