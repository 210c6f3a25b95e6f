#include "analysis/import/megascan_timeline.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "analysis/import/gzip_stream.h"
#include "analysis/import/json_events.h"

namespace megascope::importer {
namespace {

namespace fs = std::filesystem;

constexpr double kMostNs = 1e18;

/// What its name says of a file's worker; nothing of other files.
std::optional<Place> place_of(const std::string& file) {
  Place place;
  const char* at = file.data();
  const char* const end = file.data() + file.size();
  const std::pair<std::string_view, std::int32_t*> parts[] = {{"benchmark-data-", &place.dp}, {"-pipeline-", &place.pp}, {"-tensor-", &place.tp}};
  for (const auto& [word, value] : parts) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(word)) return std::nullopt;
    const auto [next, error] = std::from_chars(at + word.size(), end, *value);
    if (error != std::errc{} || *value < 0) return std::nullopt;
    at = next;
  }
  return std::string_view(at, static_cast<std::size_t>(end - at)) == ".json" ? std::optional(place) : std::nullopt;
}

/// An iteration's length and the pause before it, in ns.
struct Iteration {
  double pause_ns = 0.0;
  double length_ns = 0.0;
};

/// One worker's file. Operations get times from the begin of their iteration.
class WorkerFile {
 public:
  WorkerFile(Timeline& timeline, std::uint32_t track, std::vector<Iteration>& iterations)
      : timeline_(timeline), track_(track), iterations_(iterations) {}

  Status add(const JsonEvent& event) {
    const std::string& phase = event.text("ph");
    if (event.text("name") == "iteration" && phase == "B") return begin_iteration(event);
    if (phase != "B" && phase != "E") return Status::ok();
    if (step_ < 0 || !is_inside_) return Status::ok();  // MegaScan passes it over as well
    const std::optional<double> time_ns = event.number("rel_ts");
    if (!time_ns) return Status::error("\"rel_ts\" is missing or no number");
    if (!(std::fabs(*time_ns) <= kMostNs)) return Status::error("\"rel_ts\" is out of range");
    if (event.text("name") == "iteration") return end_iteration(event, *time_ns);
    return phase == "B" ? begin(event, *time_ns) : end(event, *time_ns);
  }
  std::size_t unclosed() const { return unclosed_ + open_.size(); }

 private:
  struct Open {
    Operation operation;
    double begin_ns = 0.0;
  };

  Iteration& iteration() {
    const auto index = static_cast<std::size_t>(step_);
    if (iterations_.size() <= index) iterations_.resize(index + 1);
    return iterations_[index];
  }
  Status begin_iteration(const JsonEvent& event) {
    if (!event.text("pad_before").empty()) return Status::error("\"pad_before\" is no number");
    const double pause_ns = event.number("pad_before").value_or(0.0);
    if (!(pause_ns >= 0 && pause_ns <= kMostNs)) return Status::error("\"pad_before\" is out of range");
    unclosed_ += open_.size();
    open_.clear();
    ++step_;
    is_inside_ = true;
    iteration().pause_ns = std::max(iteration().pause_ns, pause_ns);
    return Status::ok();
  }
  Status end_iteration(const JsonEvent& event, double time_ns) {
    for (const char* name : {"duration_wall", "duration_cuda"}) {
      if (!event.text(name).empty()) return Status::error("\"" + std::string(name) + "\" is no number");
    }
    const double length_ns = event.number("duration_wall").value_or(event.number("duration_cuda").value_or(time_ns));
    if (!(length_ns >= 0 && length_ns <= kMostNs)) return Status::error("the iteration's duration is out of range");
    iteration().length_ns = std::max({iteration().length_ns, length_ns, time_ns});
    is_inside_ = false;
    return Status::ok();
  }
  Status begin(const JsonEvent& event, double time_ns) {
    if (event.text("name").empty()) return Status::error("it has no name");
    open_.push_back({{.name = timeline_.name_index(event.text("name")), .track = track_, .step = step_}, time_ns});
    return Status::ok();
  }
  Status end(const JsonEvent& event, double time_ns) {
    if (open_.empty() || timeline_.names[open_.back().operation.name] != event.text("name")) {
      return Status::error("\"" + event.text("name") + "\" ends, but did not begin last");
    }
    Open ended = open_.back();
    open_.pop_back();
    if (ended.begin_ns < 0 || time_ns < ended.begin_ns) return Status::error("\"" + event.text("name") + "\" ends before it begins");
    Operation& operation = ended.operation;
    operation.begin_ns = static_cast<std::uint64_t>(ended.begin_ns);
    operation.end_ns = static_cast<std::uint64_t>(time_ns);
    for (const char* name : {"micro_batch_index", "microbatch"}) {
      if (const auto value = event.number(name); value && *value >= 0 && *value < 2e9) operation.micro_batch = static_cast<std::int32_t>(*value);
    }
    if (const auto value = event.number("model_chunk"); value && *value >= 0 && *value < 2e9) operation.model_chunk = static_cast<std::int32_t>(*value);
    if (const auto value = event.number("data"); value && *value >= 0 && *value < kMostNs) operation.bytes = static_cast<std::uint64_t>(*value);
    timeline_.operations.push_back(operation);
    iteration().length_ns = std::max(iteration().length_ns, time_ns);
    return Status::ok();
  }

  Timeline& timeline_;
  std::uint32_t track_;
  std::vector<Iteration>& iterations_;
  std::vector<Open> open_;
  std::int32_t step_ = -1;
  bool is_inside_ = false;
  std::size_t unclosed_ = 0;
};

Status read_worker(const fs::path& path, const Place& place, Timeline& timeline, std::vector<Iteration>& iterations) {
  GzipBuffer buffer(path.string());
  if (!buffer.is_open()) return Status::error("cannot open " + path.string());
  std::istream from(&buffer);
  const auto track = static_cast<std::uint32_t>(timeline.tracks.size());
  timeline.tracks.push_back({.place = place, .stream = "device"});
  WorkerFile file(timeline, track, iterations);
  const Status status = read_json_events(from, "traceEvents", [&file](const JsonEvent& event) { return file.add(event); });
  if (!status.is_ok()) return Status::error(path.string() + ": " + status.message());
  if (file.unclosed() != 0) {
    timeline.notes.push_back(path.filename().string() + ": " + std::to_string(file.unclosed()) + " operations begin and do not end; they were left out");
  }
  return Status::ok();
}

/// A worker whose file is damaged is left out, and a note says so.
Status read_or_leave_out(const fs::path& path, const Place& place, Timeline& timeline, std::vector<Iteration>& iterations) {
  const std::size_t operations = timeline.operations.size();
  const std::size_t tracks = timeline.tracks.size();
  const std::vector<Iteration> before = iterations;
  const Status status = read_worker(path, place, timeline, iterations);
  if (status.is_ok()) return status;
  timeline.operations.resize(operations);
  timeline.tracks.resize(tracks);
  iterations = before;
  timeline.notes.push_back(status.message() + "; this worker was left out");
  return status;
}

}  // namespace

Status read_megascan(const std::string& folder, Timeline& timeline) {
  std::vector<std::pair<fs::path, Place>> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (const std::optional<Place> place = place_of(entry.path().filename().string())) files.emplace_back(entry.path(), *place);
  }
  if (error) return Status::error("cannot read " + folder + ": " + error.message());
  if (files.empty()) return Status::error("no benchmark-data-<D>-pipeline-<P>-tensor-<T>.json in " + folder);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Iteration> iterations;
  Status worst;
  std::size_t read_count = 0;
  for (const auto& [path, place] : files) {
    const Status status = read_or_leave_out(path, place, timeline, iterations);
    worst.update(status);
    read_count += status.is_ok() ? 1 : 0;
  }
  if (read_count == 0) return worst;
  std::vector<std::uint64_t> begins_ns;
  double now_ns = 0.0;
  for (const Iteration& iteration : iterations) {
    begins_ns.push_back(static_cast<std::uint64_t>(now_ns + iteration.pause_ns));
    now_ns += iteration.pause_ns + iteration.length_ns;
    if (now_ns > kMostNs) return Status::error("the iterations in " + folder + " are longer than can be: " + std::to_string(iterations.size()) + " of them");
  }
  for (Operation& operation : timeline.operations) {
    operation.begin_ns += begins_ns[static_cast<std::size_t>(operation.step)];
    operation.end_ns += begins_ns[static_cast<std::size_t>(operation.step)];
  }
  timeline.notes.emplace_back("clocks of the workers were never compared: every iteration is taken to begin on all of them at once");
  return Status::ok();
}

}  // namespace megascope::importer
