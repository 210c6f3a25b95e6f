#include "plugin/live/http/answers.h"
#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/unauthenticated_budget.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace megascope::live {
namespace {

/// Escapes a label value: backslash, double quote and newline.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void add_head(std::string& text, std::string_view name, std::string_view type,
              std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void add_single(std::string& text, std::string_view name, std::string_view type,
                std::string_view help, double value) {
  add_head(text, name, type, help);
  text += fmt::format("{} {}\n", name, number(value));
}

/// Times of the last complete step, for each rank.
void add_times(std::string& text, const Store& store) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, kTimeColumns.size()> kNames{
      {{"megascope_step_seconds", "Duration of the last step."},
       {"megascope_step_mpi_seconds", "Time in MPI calls during the last step."},
       {"megascope_step_own_seconds", "Measurement overhead during the last step."}}};
  if (store.history.steps.is_empty()) return;
  const StepEntry& last = store.history.steps.back();
  add_single(text, "megascope_step", "gauge", "Number of the last complete step.",
             static_cast<double>(last.step));
  for (std::size_t column = 0; column < kNames.size(); ++column) {
    add_head(text, kNames[column].first, "gauge", kNames[column].second);
    for (std::uint32_t rank = 0; rank < store.ranks; ++rank) {
      const double seconds = static_cast<double>(last.times[column * store.ranks + rank]) * 1e-3;
      if (!std::isnan(seconds))
        text += fmt::format("{}{{rank=\"{}\"}} {}\n", kNames[column].first, rank, number(seconds));
    }
  }
}

void add_counters(std::string& text, const Store& store) {
  bool has_head = false;
  for (std::uint32_t id = 0; id < store.counters.size(); ++id) {
    const KnownCounter& counter = store.counters[id];
    if (!counter.value) continue;
    if (!std::exchange(has_head, true))
      add_head(text, "megascope_counter", "gauge",
               "Latest value of each application counter that a client has requested.");
    text += fmt::format("megascope_counter{{name=\"{}\",rank=\"{}\",unit=\"{}\"}} {}\n",
                        escaped(counter.name), counter.world_rank, escaped(counter.unit),
                        number(*counter.value));
  }
}

/// Metrics of the compatibility endpoint.
void add_unauthenticated(std::string& text, const UnauthenticatedBudget& budget) {
  add_single(text, "megascope_live_guest_bytes_total", "counter",
             "Bytes to and from unauthenticated clients.",
             static_cast<double>(budget.spent_bytes()));
  add_single(text, "megascope_live_guest_cpu_seconds_total", "counter",
             "CPU time of the live view's thread for unauthenticated clients.",
             static_cast<double>(budget.spent_cpu_ns()) * 1e-9);
  add_single(text, "megascope_live_guest_skipped_total", "counter",
             "Updates skipped because the budget of unauthenticated clients was used up.",
             static_cast<double>(budget.skipped_updates()));
}

}  // namespace

std::string metrics_text(const Hub& hub) {
  std::string text;
  add_head(text, "megascope_run_info", "gauge", "Facts about the run.");
  text += fmt::format("megascope_run_info{{program=\"{}\",run_id=\"{}\",version=\"{}\"}} 1\n",
                      escaped(hub.settings().program), escaped(hub.settings().run_id),
                      MEGASCOPE_VERSION_TEXT);
  add_single(text, "megascope_ranks", "gauge", "Number of ranks.", hub.settings().world_size);
  add_times(text, hub.store());
  add_counters(text, hub.store());
  add_single(text, "megascope_live_clients", "gauge", "Number of connected clients.",
             static_cast<double>(hub.client_count()));
  add_single(text, "megascope_live_frames_total", "counter", "Frames sent to clients.",
             static_cast<double>(hub.sent_frames()));
  add_single(text, "megascope_live_bytes_total", "counter", "Bytes sent to clients.",
             static_cast<double>(hub.sent_bytes()));
  add_head(text, "megascope_live_dropped_total", "counter",
           "Data that the live view dropped, by reason.");
  for (const auto& [reason, count] : hub.drops())
    text += fmt::format("megascope_live_dropped_total{{reason=\"{}\"}} {}\n", escaped(reason),
                        count);
  if (hub.unauthenticated_budget() != nullptr)
    add_unauthenticated(text, *hub.unauthenticated_budget());
  return text;
}

}  // namespace megascope::live
