#include "analysis/import/chrome_timeline.h"

#include "analysis/import/json_events.h"
#include "analysis/import/open_operations.h"
#include "analysis/import/own_timeline.h"
#include "analysis/import/whole_event.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace megascope::importer {
namespace {

constexpr double kMaxUs = 1e15;  // 31 years: further off is damage

struct TrackKey {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  auto operator<=>(const TrackKey&) const = default;
};

struct RawTrack {
  std::uint32_t index = 0;
  OpenOperations open;
};

constexpr const char* kNumbers[] = {"step",       "mb_id",       "micro_batch_index",
                                    "microbatch", "model_chunk", "seq_id"};

/// Steps and the like are whole; −1 is how some tools write that there is none.
Status check_number(const JsonEvent& event, const char* name) {
  if (!event.argument_text(name).empty())
    return Status::error("\"args." + std::string(name) + "\" is not a number");
  const std::optional<double> value = event.argument(name);
  const bool is_fit = !value ||
                      (*value >= -1 && *value <= std::numeric_limits<std::int32_t>::max() &&
                       *value == std::floor(*value));
  return is_fit ? Status::ok()
                : Status::error("\"args." + std::string(name) +
                                "\" is not a whole number from 0 to 2147483647");
}

std::int32_t small(const std::optional<double>& value) {
  return value ? static_cast<std::int32_t>(*value) : kUnknown;
}

class ChromeReader {
 public:
  explicit ChromeReader(Timeline& timeline) : timeline_(timeline) {}

  Status add(const JsonEvent& event) {
    const std::string& phase = event.text("ph");
    if (phase == "M") return add_name(event);
    if (phase != "X" && phase != "B" && phase != "E") {
      ++others_;
      return Status::ok();
    }
    for (const char* name : kNumbers) {
      const Status status = check_number(event, name);
      if (!status.is_ok()) return status;
    }
    timeline_.repairs.add_event();
    if (phase == "X") return add_whole(event);
    const std::optional<double> time_us = event.number("ts");
    if (!time_us) return Status::error("\"ts\" is missing or not a number");
    if (!(std::fabs(*time_us) <= kMaxUs)) return Status::error("\"ts\" is out of range");
    const std::int64_t time_ns = rounded(*event.thousandths("ts"));
    return phase == "B" ? add_begin(event, time_ns) : add_end(event, time_ns);
  }

  /// Names of tracks may follow their events, and times may be negative.
  Status finish() {
    for (auto& [key, track] : tracks_) {
      track.open.take_rest([this](const OpenOperations::Open& open) { add_unclosed(open); });
      timeline_.tracks[track.index] = track_of(key);
    }
    if (others_ != 0)
      timeline_.notes.push_back(
          std::to_string(others_) +
          " events are not operations (counters, flows, marks) and were omitted");
    for (Operation& operation : timeline_.operations) {
      operation.begin_ns -= static_cast<std::uint64_t>(first_ns_);
      operation.end_ns -= static_cast<std::uint64_t>(first_ns_);
    }
    return Status::ok();
  }

 private:
  RawTrack& track_at(const JsonEvent& event) {
    const TrackKey key{event.id("pid"), event.id("tid")};
    const auto [at, is_new] = tracks_.try_emplace(key);
    if (is_new) {
      at->second.index = static_cast<std::uint32_t>(timeline_.tracks.size());
      timeline_.tracks.emplace_back();
      if (!event.text("pid").empty()) process_names_.try_emplace(key.process, event.text("pid"));
    }
    return at->second;
  }

  Status add_name(const JsonEvent& event) {
    const std::string& what = event.text("name");
    const std::string& name = event.argument_text("name");
    if (what == "process_name")
      process_names_[event.id("pid")] = name;
    else if (what == "thread_name")
      track_names_[{event.id("pid"), event.id("tid")}] = name;
    return Status::ok();
  }

  Operation operation_of(const JsonEvent& event, std::uint32_t track) {
    Operation operation{.name = timeline_.name_index(event.text("name")), .track = track};
    operation.step = small(event.argument("step"));
    operation.model_chunk = small(event.argument("model_chunk"));
    operation.sequence = small(event.argument("seq_id"));
    for (const char* name : {"mb_id", "micro_batch_index", "microbatch"}) {
      if (operation.micro_batch == kUnknown) operation.micro_batch = small(event.argument(name));
    }
    return operation;
  }

  Status add_whole(const JsonEvent& event) {
    WholeEvent whole;
    const Status status = read_whole(event, kMaxUs, whole);
    if (status.is_ok()) keep_in(operation_of(event, track_at(event).index), whole, event.index());
    return status;
  }

  Status add_begin(const JsonEvent& event, std::int64_t time_ns) {
    if (event.text("name").empty()) return Status::error("\"name\" is missing or empty");
    RawTrack& track = track_at(event);
    track.open.begin(operation_of(event, track.index), time_ns, event.index());
    return Status::ok();
  }

  /// An end without a name, or with a name that no operation has, ends what began last.
  Status add_end(const JsonEvent& event, std::int64_t time_ns) {
    RawTrack& track = track_at(event);
    OpenOperations::Open ended;
    const std::string& text = event.text("name");
    const bool is_named = !text.empty() && (track.open.count() == 0 || timeline_.has_name(text));
    const std::uint32_t name = is_named ? timeline_.name_index(text) : 0;
    switch (is_named ? track.open.end(name, time_ns, ended) : track.open.end(time_ns, ended)) {
      case OpenOperations::Found::kBegin:
        keep_pair(ended, time_ns, event.index());
        break;
      case OpenOperations::Found::kCopy:
        timeline_.repairs.add(RepairKind::kDuplicate, where(event.index()));
        break;
      case OpenOperations::Found::kNothing:
        if (is_named)
          keep_in(operation_of(event, track.index),
                  {time_ns, time_ns, {{RepairKind::kMissingBegin, Estimate::Of::kBegin}}},
                  event.index());
        else
          timeline_.repairs.add(RepairKind::kMissingBegin, where(event.index()));
    }
    return Status::ok();
  }

  void keep_pair(const OpenOperations::Open& begin, std::int64_t end_ns, std::size_t event) {
    WholeEvent whole{begin.begin_ns, end_ns, std::nullopt};
    if (end_ns < begin.begin_ns)
      whole = {begin.begin_ns,
               begin.begin_ns + (begin.begin_ns - end_ns),
               {{RepairKind::kNegativeDuration, Estimate::Of::kSign}}};
    keep_in(begin.operation, whole, event);
  }

  void add_unclosed(const OpenOperations::Open& open) {
    if (open.is_copy)
      timeline_.repairs.add(RepairKind::kDuplicate, where(open.event));
    else
      keep_in(open.operation,
              {open.begin_ns, open.begin_ns, {{RepairKind::kMissingEnd, Estimate::Of::kEnd}}},
              open.event);
  }

  static std::string where(std::size_t event) { return "event " + std::to_string(event); }

  void keep_in(const Operation& operation, const WholeEvent& whole, std::size_t event) {
    keep(timeline_, operation, whole, whole.repair ? where(event) : std::string());
    first_ns_ = std::min(first_ns_, whole.begin_ns);
  }

  Track track_of(const TrackKey& key) const {
    Track track;
    const auto process = process_names_.find(key.process);
    if (process != process_names_.end()) (void)read_coordinates(process->second, track.coordinates);
    const auto thread = track_names_.find(key);
    if (thread != track_names_.end())
      track.stream = read_coordinates(thread->second, track.coordinates);
    const auto number = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(key.process, kUnknown, std::numeric_limits<std::int32_t>::max()));
    if (track.coordinates == GridCoordinates{})
      track.coordinates.rank = number;
    else if (track.coordinates.dp == kUnknown)
      track.coordinates.dp = number;
    return track;
  }

  Timeline& timeline_;
  std::map<TrackKey, RawTrack> tracks_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<TrackKey, std::string> track_names_;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::size_t others_ = 0;
};

/// "PP rank 2", "PP2", "pp_rank 2": the number behind the dimension's name at `at`, and how far it
/// reaches.
std::optional<std::int32_t> number_behind(const std::string& text, std::size_t& at) {
  std::size_t next = at + 2;
  const auto skip = [&](std::string_view word) {
    if (std::string_view(text).substr(next).starts_with(word)) next += word.size();
  };
  skip("_");
  skip(" ");
  skip("rank");
  skip(" ");
  std::int32_t value = 0;
  const char* begin = text.data() + next;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  at = static_cast<std::size_t>(end - text.data());
  return value;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string read_coordinates(const std::string& name, GridCoordinates& coordinates) {
  const std::string text = lower(name);
  const std::pair<const char*, std::int32_t GridCoordinates::*> dimensions[] = {
      {"dp", &GridCoordinates::dp}, {"pp", &GridCoordinates::pp}, {"tp", &GridCoordinates::tp}};
  std::size_t rest = 0;
  for (std::size_t at = 0; at + 2 < text.size(); ++at) {
    const bool is_word = at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0;
    if (!is_word) continue;
    for (const auto& [word, member] : dimensions) {
      if (text.compare(at, 2, word) != 0) continue;
      std::size_t end = at;
      const std::optional<std::int32_t> value = number_behind(text, end);
      if (!value) continue;
      coordinates.*member = *value;
      rest = at = end;
      break;
    }
  }
  const std::size_t begin = name.find_first_not_of(" ,-", rest);
  return begin == std::string::npos ? std::string() : name.substr(begin);
}

Status read_chrome(std::istream& from, Timeline& timeline) {
  JsonHeader header;
  OwnTimeline own(timeline);
  ChromeReader reader(timeline);
  const auto add = [&](const JsonEvent& event) {
    return OwnTimeline::wrote(header.generator) ? own.add(event) : reader.add(event);
  };
  const Status status = read_json_events(from, "traceEvents", add, &header);
  if (!status.is_ok()) return status;
  return OwnTimeline::wrote(header.generator) ? own.finish() : reader.finish();
}

}  // namespace megascope::importer
