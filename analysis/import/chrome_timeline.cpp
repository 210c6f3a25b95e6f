#include "analysis/import/chrome_timeline.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/import/json_events.h"
#include "analysis/import/own_timeline.h"

namespace megascope::importer {
namespace {

constexpr double kMostUs = 1e15;  // 31 years: further off is damage

struct TrackKey {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  auto operator<=>(const TrackKey&) const = default;
};

struct OpenBegin {
  Operation operation;
  double begin_us = 0.0;
};

struct RawTrack {
  std::uint32_t index = 0;
  std::string name;
  std::vector<OpenBegin> open;
};

constexpr const char* kNumbers[] = {"step", "mb_id", "micro_batch_index", "microbatch", "model_chunk", "seq_id"};

/// Steps and the like are whole; −1 is how some tools write that there is none.
Status check_number(const JsonEvent& event, const char* name) {
  if (!event.argument_text(name).empty()) return Status::error("\"args." + std::string(name) + "\" is no number");
  const std::optional<double> value = event.argument(name);
  const bool is_fit = !value || (*value >= -1 && *value <= std::numeric_limits<std::int32_t>::max() && *value == std::floor(*value));
  return is_fit ? Status::ok() : Status::error("\"args." + std::string(name) + "\" is no whole number from 0 to 2147483647");
}

std::int32_t small(const std::optional<double>& value) { return value ? static_cast<std::int32_t>(*value) : kUnknown; }

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
    const std::optional<double> begin_us = event.number("ts");
    if (!begin_us) return Status::error("\"ts\" is missing or no number");
    if (!(std::fabs(*begin_us) <= kMostUs)) return Status::error("\"ts\" is out of range");
    return phase == "X" ? add_whole(event, *begin_us) : add_edge(event, *begin_us, phase == "B");
  }

  /// Names of tracks may come behind their events, and times be negative.
  Status finish() {
    std::size_t unclosed = 0;
    for (auto& [key, track] : tracks_) {
      unclosed += track.open.size();
      timeline_.tracks[track.index] = track_of(key, track);
    }
    if (unclosed != 0) timeline_.notes.push_back(std::to_string(unclosed) + " operations begin and do not end; they were left out");
    if (unopened_ != 0) timeline_.notes.push_back(std::to_string(unopened_) + " operations end without a begin; they were left out");
    if (others_ != 0) timeline_.notes.push_back(std::to_string(others_) + " events are no operations (counters, flows, marks) and were left out");
    for (std::size_t i = 0; i < begins_us_.size(); ++i) place_in_time(timeline_.operations[i], begins_us_[i], lengths_us_[i]);
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
    if (what == "process_name") process_names_[event.id("pid")] = name;
    else if (what == "thread_name") track_names_[{event.id("pid"), event.id("tid")}] = name;
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

  Status add_whole(const JsonEvent& event, double begin_us) {
    const std::optional<double> length_us = event.number("dur");
    if (!length_us) return Status::error("\"dur\" is missing or no number");
    if (!(*length_us >= 0 && *length_us <= kMostUs)) return Status::error("\"dur\" is out of range");
    if (event.text("name").empty()) return Status::error("it has no name");
    return keep(operation_of(event, track_at(event).index), begin_us, *length_us);
  }

  Status add_edge(const JsonEvent& event, double time_us, bool is_begin) {
    RawTrack& track = track_at(event);
    if (is_begin) {
      if (event.text("name").empty()) return Status::error("it has no name");
      track.open.push_back({operation_of(event, track.index), time_us});
      return Status::ok();
    }
    if (track.open.empty()) {
      ++unopened_;
      return Status::ok();
    }
    const OpenBegin begin = track.open.back();
    track.open.pop_back();
    if (time_us < begin.begin_us) return Status::error("it ends before it begins");
    return keep(begin.operation, begin.begin_us, time_us - begin.begin_us);
  }

  Status keep(const Operation& operation, double begin_us, double length_us) {
    timeline_.operations.push_back(operation);
    begins_us_.push_back(begin_us);
    lengths_us_.push_back(length_us);
    first_us_ = std::min(first_us_, begin_us);
    return Status::ok();
  }

  void place_in_time(Operation& operation, double begin_us, double length_us) const {
    operation.begin_ns = static_cast<std::uint64_t>(std::llround((begin_us - first_us_) * 1e3));
    operation.end_ns = static_cast<std::uint64_t>(std::llround((begin_us - first_us_ + length_us) * 1e3));
  }

  Track track_of(const TrackKey& key, const RawTrack&) const {
    Track track;
    const auto process = process_names_.find(key.process);
    if (process != process_names_.end()) (void)read_place(process->second, track.place);
    const auto thread = track_names_.find(key);
    if (thread != track_names_.end()) track.stream = read_place(thread->second, track.place);
    const auto number = static_cast<std::int32_t>(std::clamp<std::int64_t>(key.process, kUnknown, std::numeric_limits<std::int32_t>::max()));
    if (track.place == Place{}) track.place.rank = number;
    else if (track.place.dp == kUnknown) track.place.dp = number;
    return track;
  }

  Timeline& timeline_;
  std::map<TrackKey, RawTrack> tracks_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<TrackKey, std::string> track_names_;
  std::vector<double> begins_us_;   ///< by operation
  std::vector<double> lengths_us_;
  double first_us_ = kMostUs;
  std::size_t others_ = 0;
  std::size_t unopened_ = 0;
};

/// "PP rank 2", "PP2", "pp_rank 2": the number behind the dimension's name at `at`, and how far it reaches.
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

std::string read_place(const std::string& name, Place& place) {
  const std::string text = lower(name);
  const std::pair<const char*, std::int32_t Place::*> dimensions[] = {{"dp", &Place::dp}, {"pp", &Place::pp}, {"tp", &Place::tp}};
  std::size_t rest = 0;
  for (std::size_t at = 0; at + 2 < text.size(); ++at) {
    const bool is_word = at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0;
    if (!is_word) continue;
    for (const auto& [word, member] : dimensions) {
      if (text.compare(at, 2, word) != 0) continue;
      std::size_t end = at;
      const std::optional<std::int32_t> value = number_behind(text, end);
      if (!value) continue;
      place.*member = *value;
      rest = at = end;
      break;
    }
  }
  const std::size_t begin = name.find_first_not_of(" ,-", rest);
  return begin == std::string::npos ? std::string() : name.substr(begin);
}

Status read_chrome(std::istream& from, Timeline& timeline) {
  std::string generator;
  OwnTimeline own(timeline);
  ChromeReader reader(timeline);
  const auto add = [&](const JsonEvent& event) { return OwnTimeline::wrote(generator) ? own.add(event) : reader.add(event); };
  const Status status = read_json_events(from, "traceEvents", add, &generator);
  if (!status.is_ok()) return status;
  return OwnTimeline::wrote(generator) ? own.finish() : reader.finish();
}

}  // namespace megascope::importer
