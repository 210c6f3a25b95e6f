#include "core/hooks/hooks.h"

#include "core/base/scarce_memory.h"
#include "core/buffer/recorder.h"
#include "core/hooks/cpu_readings.h"
#include "core/hooks/name_table.h"
#include "core/hooks/refusals.h"
#include "core/record/user_regions.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <new>

namespace megascope::hooks {

void open_threads(Recorder* recorder, std::uint8_t gate) noexcept;
void look_beside(std::uint8_t bits) noexcept;
void set_window(const StepWindow& window) noexcept;

namespace {

constexpr std::size_t kMaxNameBytes = 1000;
constexpr std::size_t kMaxGroupBytes = 200;
constexpr std::size_t kMaxThreadNames = 1U << 14;
constexpr std::uint32_t kMaxRegions = kFirstReservedRegion - kFirstProgramRegion;
constexpr std::uint32_t kMaxCounters = 1U << 24;

struct RegionName {
  std::size_t bytes;  ///< bytes of the name in the key; a zero byte and the group follow, if there
                      ///< is a group
};
struct TensorName {
  TensorKinds wanted_kinds = 0;
};

/// All names of the process. Those defined before a recording starts are written when it starts.
struct Names {
  ProcessLock lock;
  NameTable<RegionName> regions;
  std::map<std::int64_t, std::string> threads;  ///< by gettid()
  NameTable<std::string> counters;              ///< the entry is the unit
  NameTable<TensorName> tensors;
  TensorSink* sink = nullptr;
};
Names& names() {
  static auto* const all = new Names;
  return *all;
}

/// One bit for each region identifier: the region has a group.
std::array<std::atomic<std::uint64_t>, (std::size_t{kFirstReservedRegion} + 63) / 64> g_crossing;

RegionDefinition definition_of(std::uint32_t number) {
  RegionDefinition region;
  region.id = static_cast<RegionId>(kFirstProgramRegion + number);
  const std::string& key = names().regions.name(number);
  region.name = key.substr(0, names().regions.entry(number).bytes);
  region.role = RegionRole::kCode;
  region.paradigm = Paradigm::kUser;
  if (region.name.size() < key.size())
    region.group = key.substr(region.name.size() + 1);
  else if (region.name == kStepRegionName)
    region.group = "step";
  return region;
}

std::string_view cut(std::string_view name) { return name.substr(0, kMaxNameBytes); }

/// Returns the number of a name, and defines it if it is new: `define` adds it to the table and the
/// recorder. Returns kAbsent if the name is refused.
template <class Entry, class Define>
std::uint32_t number_of(NameTable<Entry> Names::*table, std::string_view name, std::uint32_t most,
                        Define define) noexcept {
  constexpr std::uint32_t kNone = NameTable<Entry>::kAbsent;
  if (name.empty()) {
    refuse(LossCause::kRefused, "a name is null or empty; the call was ignored");
    return kNone;
  }
  try {
    const ProcessGuard locked(names().lock);
    if (!locked) return kNone;
    const std::uint32_t known = (names().*table).find(cut(name));
    if (known != kNone) return known;
    if ((names().*table).size() < most) return define(cut(name));
  } catch (const std::bad_alloc&) {
    refuse(LossCause::kRefused, "a name was not defined: memory is exhausted");
    return kNone;
  }
  refuse(LossCause::kRefused, "a name was not defined: there are too many names");
  return kNone;
}

/// Writes the definition of the name that was just added. If memory runs out, removes the name and
/// throws.
template <class Entry, class Define>
std::uint32_t keep_if_defined(NameTable<Entry>& table, std::uint32_t added, Define define) {
  Recorder* const active = recorder();
  if (active == nullptr || without_throwing([&] { return define(*active); }, [] {})) return added;
  table.remove_last();
  throw std::bad_alloc();
}

TensorId tensor(std::string_view name) noexcept {
  return number_of(
      &Names::tensors, name, NameTable<TensorName>::kAbsent, [](std::string_view whole) {
        TensorSink* const sink = names().sink;
        const std::uint32_t added = names().tensors.add(
            whole, {.wanted_kinds = sink != nullptr ? sink->wanted_kinds(whole) : TensorKinds{0}});
        return keep_if_defined(names().tensors, added, [&](Recorder& active) {
          return active.define_tensor(added, std::string(whole));
        });
      });
}

/// Returns the sink if it wants tensors of this name and one of these kinds; nullptr otherwise.
TensorSink* sink_of(TensorId tensor, TensorKinds kinds) noexcept {
  const ProcessGuard locked(names().lock);
  return locked && (names().tensors.entry(tensor).wanted_kinds & kinds) != 0 ? names().sink
                                                                             : nullptr;
}

/// Handles of the application are checked against the number of counters defined.
std::atomic<std::uint32_t> g_counter_count{0};  ///< size of names().counters, read without the lock
std::atomic<CounterSink*> g_counter_sink{nullptr};
bool is_known_counter(CounterId counter) {
  return counter < g_counter_count.load(std::memory_order_relaxed);
}

}  // namespace

RegionId region(std::string_view name, std::string_view group) noexcept {
  group = name.empty() ? group.substr(0, 0) : group.substr(0, kMaxGroupBytes);
  const std::size_t bytes = std::min(
      name.size(), group.empty() ? kMaxNameBytes : kMaxNameBytes - 1 - group.size());
  char key[kMaxNameBytes];
  std::copy_n(name.data(), bytes, key);
  std::size_t size = bytes;
  if (!group.empty()) {
    key[size++] = '\0';
    size += group.copy(key + size, group.size());
  }
  const std::uint32_t number = number_of(
      &Names::regions, {key, size}, kMaxRegions, [bytes](std::string_view whole) {
        const std::uint32_t added = names().regions.add(whole, {bytes});
        const std::uint32_t id = kFirstProgramRegion + added;
        if (bytes < whole.size())
          g_crossing[id / 64].fetch_or(std::uint64_t{1} << id % 64, std::memory_order_relaxed);
        else
          g_crossing[id / 64].fetch_and(~(std::uint64_t{1} << id % 64), std::memory_order_relaxed);
        return keep_if_defined(names().regions, added, [added](Recorder& active) {
          return active.define(definition_of(added));
        });
      });
  return number == NameTable<RegionName>::kAbsent
             ? kNoRegion
             : static_cast<RegionId>(kFirstProgramRegion + number);
}

bool may_cross(RegionId region) noexcept {
  return (g_crossing[region / 64].load(std::memory_order_relaxed) >> region % 64 & 1) != 0;
}

void name_thread(std::int64_t system_thread_id, std::string_view name) noexcept {
  try {
    const ProcessGuard locked(names().lock);
    if (!locked || name.empty() || names().threads.size() == kMaxThreadNames) return;
    const std::string whole(cut(name));
    names().threads[system_thread_id] = whole;
    if (Recorder* active = recorder()) active->name_thread(system_thread_id, whole);
  } catch (const std::bad_alloc&) {
    refuse(LossCause::kRefused, "a name was not defined: memory is exhausted");
  }
}

void enter_slow_path(RegionId region) noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr || region < kFirstProgramRegion || region >= kFirstReservedRegion) return;
  if (push(*thread, region)) put(*thread, clock::ticks(thread->use_tsc), region);
}

void leave_slow_path(RegionId region) noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread != nullptr && region >= kFirstProgramRegion) leave_until(*thread, region);
}

void enter(RegionId region, std::span<const Number> numbers) noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr || region < kFirstProgramRegion || region >= kFirstReservedRegion ||
      !push(*thread, region))
    return;
  numbers = numbers.first(std::min(numbers.size(), kMaxNumbers));
  EventBuffer& buffer = *thread->buffer;
  const std::uint64_t now = clock::ticks(thread->use_tsc);
  if (!has_space(buffer, 1 + numbers.size() * hook_words::kMaxValueWords, now)) return;
  encoding::Word* to = buffer.cursor();
  *to++ = hook_words::timed(now, buffer.base_ticks(), region);
  for (const Number& number : numbers) to = hook_words::encode_value(to, number.name, number.value);
  buffer.commit(to);
}

void leave_innermost() noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr) return;
  if (thread->depth == 0)
    return refuse(LossCause::kUnbalanced,
                  "a region was left, but no region is open on this thread");
  leave(thread->open[thread->depth - 1]);
}

CounterId counter(std::string_view name, std::string_view unit) noexcept {
  return number_of(&Names::counters, name, kMaxCounters, [unit](std::string_view whole) {
    const std::uint32_t added = names().counters.add(whole, std::string(cut(unit)));
    const std::uint32_t kept = keep_if_defined(names().counters, added, [&](Recorder& active) {
      return active.define(
          CounterDefinition{added, std::string(whole), names().counters.entry(added)});
    });
    if (kept == added) g_counter_count.store(added + 1, std::memory_order_relaxed);
    return kept;
  });
}

void count(CounterId counter, double value) noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr) return;
  if (!is_known_counter(counter))
    return refuse(LossCause::kRefused, "a counter was set that is not defined");
  if (CounterSink* const sink = g_counter_sink.load(std::memory_order_acquire)) [[unlikely]]
    sink->set(counter, value);
  EventBuffer& buffer = *thread->buffer;
  const std::uint64_t now = clock::ticks(thread->use_tsc);
  if (!has_space(buffer, hook_words::kCounterWords, now)) return;
  buffer.commit(
      hook_words::encode_counter(buffer.cursor(), now, buffer.base_ticks(), counter, value));
}

void mark(RegionId name) noexcept {
  HookThread* thread = thread_for(kRegions);
  if (thread == nullptr || name < kFirstProgramRegion) return;
  EventBuffer& buffer = *thread->buffer;
  const std::uint64_t now = clock::ticks(thread->use_tsc);
  if (!has_space(buffer, hook_words::kMarkWords, now)) return;
  buffer.commit(hook_words::encode_mark(buffer.cursor(), now, buffer.base_ticks(), name));
}

void show_slow_path(TensorView& view) noexcept {
  HookThread* thread = thread_for(kTensors | kShows);
  if (thread == nullptr) return;
  view.step = current_step();
  view.id = tensor(view.name);
  if (view.id == NameTable<TensorName>::kAbsent) return;
  if ((gate_of(*thread) & kTensors) != 0) {
    EventBuffer& buffer = *thread->buffer;
    const std::uint64_t now = clock::ticks(thread->use_tsc);
    if (has_space(buffer, hook_words::kTensorWords + view.shape.dimension_count, now)) {
      buffer.commit(hook_words::encode_tensor(buffer.cursor(), now, buffer.base_ticks(), view.id,
                                              view.shape));
    }
  }
  if ((gate_of(*thread) & kShows) == 0) return;
  if (TensorSink* const sink = sink_of(view.id, kinds_with(view.shape.kind))) sink->take(view);
}

bool wants_tensor(std::string_view name) noexcept {
  HookThread* thread = thread_for(kTensors | kShows);
  if (thread == nullptr) return false;
  if ((gate_of(*thread) & kTensors) != 0) return true;
  const TensorId id = tensor(name);
  return id != NameTable<TensorName>::kAbsent && sink_of(id, kAllTensorKinds) != nullptr;
}

void set_tensor_sink(TensorSink* sink) noexcept { names().sink = sink; }

void show_tensors(bool is_wanted) noexcept {
  const ProcessGuard locked(names().lock);
  if (!locked || names().sink == nullptr) return;
  for (std::uint32_t i = 0; i < names().tensors.size(); ++i)
    names().tensors.entry(i).wanted_kinds = names().sink->wanted_kinds(names().tensors.name(i));
  look_beside(is_wanted ? kShows : std::uint8_t{0});
}

void show_counters(CounterSink* sink) noexcept {
  g_counter_sink.store(sink, std::memory_order_release);
}

std::string counter_name(CounterId counter) {
  const ProcessGuard locked(names().lock);
  return locked && counter < names().counters.size() ? names().counters.name(counter)
                                                     : std::string();
}

std::string counter_unit(CounterId counter) {
  const ProcessGuard locked(names().lock);
  return locked && counter < names().counters.size() ? names().counters.entry(counter)
                                                     : std::string();
}

void open(Recorder& recorder, std::uint8_t gate, const StepWindow& window) noexcept {
  try {
    const ProcessGuard locked(names().lock);
    if (!locked) return;
    for (std::uint32_t i = 0; i < names().regions.size(); ++i) recorder.define(definition_of(i));
    for (std::uint32_t i = 0; i < names().counters.size(); ++i)
      recorder.define(CounterDefinition{i, names().counters.name(i), names().counters.entry(i)});
    for (std::uint32_t i = 0; i < names().tensors.size(); ++i)
      recorder.define_tensor(i, names().tensors.name(i));
    for (const auto& [thread, name] : names().threads) recorder.name_thread(thread, name);
  } catch (const std::bad_alloc&) {
    return;
  }
  count_refusals_in(&recorder);
  set_window(window);
  if ((gate & kCpu) != 0) prepare_cpu_readings();
  open_threads(&recorder, static_cast<std::uint8_t>(gate | kSteps));
  keep(window.has_all());
}

void close() noexcept {
  open_threads(nullptr, 0);
  count_refusals_in(nullptr);
}

}  // namespace megascope::hooks
