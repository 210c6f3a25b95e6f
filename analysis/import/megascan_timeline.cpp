#include "analysis/import/megascan_timeline.h"

#include "analysis/import/gzip_stream.h"
#include "analysis/import/json_events.h"
#include "analysis/import/megascan_definitions.h"
#include "analysis/import/open_operations.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace megascope::importer {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxNs = 1e18;

/// Grid coordinates of the worker in a file's name; nothing for other files.
std::optional<GridCoordinates> coordinates_of(const std::string& file) {
  GridCoordinates coordinates;
  const char* at = file.data();
  const char* const end = file.data() + file.size();
  const std::pair<std::string_view, std::int32_t*> parts[] = {{"benchmark-data-", &coordinates.dp},
                                                              {"-pipeline-", &coordinates.pp},
                                                              {"-tensor-", &coordinates.tp}};
  for (const auto& [word, value] : parts) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(word))
      return std::nullopt;
    const auto [next, error] = std::from_chars(at + word.size(), end, *value);
    if (error != std::errc{} || *value < 0) return std::nullopt;
    at = next;
  }
  return std::string_view(at, static_cast<std::size_t>(end - at)) == ".json"
             ? std::optional(coordinates)
             : std::nullopt;
}

/// An iteration's length and the pause before it, in ns; of what `megascope export` wrote, also
/// when it began and which step it is.
struct Iteration {
  double pause_ns = 0.0;
  double length_ns = 0.0;
  std::optional<double> begin_ns = std::nullopt;  ///< as all files that have it tell it
  std::int32_t step = kUnknown;
  bool is_seen = false;

  /// The begin is unknown if any file lacks it or contradicts another file.
  void report(std::optional<double> begin, std::int32_t specified_step) {
    if (!std::exchange(is_seen, true)) {
      begin_ns = begin;
      step = specified_step;
    } else if (begin_ns != begin || step != specified_step) {
      begin_ns.reset();
    }
  }
};

/// One worker's file. Operations get times from the begin of their iteration.
class WorkerFile {
 public:
  WorkerFile(Timeline& timeline, const GridCoordinates& coordinates, std::string name,
             std::vector<Iteration>& iterations)
      : timeline_(timeline),
        coordinates_(coordinates),
        name_(std::move(name)),
        iterations_(iterations),
        definitions_(timeline) {}

  Status add(const JsonEvent& event) {
    const std::string& phase = event.text("ph");
    if (event.text("name") == "iteration" && phase == "B") return begin_iteration(event);
    if (phase == "i" && !has_operations_) return definitions_.add(event);
    if (phase != "B" && phase != "E") return Status::ok();
    if (step_ >= 0 && !is_inside_) infer_iteration(event);
    if (step_ < 0 || !is_inside_) return Status::ok();  // MegaScan passes it over as well
    timeline_.repairs.add_event();
    const std::optional<double> time_ns = event.number("rel_ts");
    if (!time_ns) return Status::error("\"rel_ts\" is missing or not a number");
    if (!(std::fabs(*time_ns) <= kMaxNs)) return Status::error("\"rel_ts\" is out of range");
    if (event.text("name") == "iteration") return end_iteration(event, *time_ns);
    return phase == "B" ? begin(event, *time_ns) : end(event, *time_ns);
  }
  /// After the last event.
  void finish() { end_all_open(); }
  bool has_operations() const { return has_operations_; }

 private:
  Iteration& iteration() {
    const auto index = static_cast<std::size_t>(step_);
    if (iterations_.size() <= index) iterations_.resize(index + 1);
    return iterations_[index];
  }
  Status begin_iteration(const JsonEvent& event) {
    if (!event.text("pad_before").empty()) return Status::error("\"pad_before\" is not a number");
    const double pause_ns = event.number("pad_before").value_or(0.0);
    if (!(pause_ns >= 0 && pause_ns <= kMaxNs))
      return Status::error("\"pad_before\" is out of range");
    timeline_.repairs.add_event();
    if (is_inside_ && is_iteration_empty_) {
      timeline_.repairs.add(RepairKind::kDuplicate, where(event.index()));
      return Status::ok();
    }
    if (is_inside_)
      timeline_.repairs.add(RepairKind::kMissingEnd,
                            where(event.index()) + ", the previous iteration");
    enter_iteration();
    iteration().pause_ns = std::max(iteration().pause_ns, pause_ns);
    const std::optional<double> begin_ns = event.number("begin_ns");
    const double step = event.number("step").value_or(0.0);
    if (begin_ns && !(*begin_ns >= 0 && *begin_ns <= kMaxNs))
      return Status::error("\"begin_ns\" is out of range");
    if (begin_ns && !(step >= kUnknown && step < 2e9))
      return Status::error("\"step\" is out of range");
    iteration().report(begin_ns, static_cast<std::int32_t>(begin_ns ? step : 0.0));
    return Status::ok();
  }
  Status end_iteration(const JsonEvent& event, double time_ns) {
    for (const char* name : {"duration_wall", "duration_cuda"}) {
      if (!event.text(name).empty())
        return Status::error("\"" + std::string(name) + "\" is not a number");
    }
    const double length_ns = event.number("duration_wall")
                                 .value_or(event.number("duration_cuda").value_or(time_ns));
    if (!(length_ns >= 0 && length_ns <= kMaxNs))
      return Status::error("the iteration's duration is out of range");
    iteration().length_ns = std::max({iteration().length_ns, length_ns, time_ns});
    is_inside_ = false;
    ended_ns_ = time_ns;
    return Status::ok();
  }
  void enter_iteration() {
    end_all_open();
    ++step_;
    is_inside_ = is_iteration_empty_ = true;
    (void)iteration();
  }
  /// Times that start again after an iteration's end are of the next one, whose begin is missing.
  void infer_iteration(const JsonEvent& event) {
    const std::optional<double> time_ns = event.number("rel_ts");
    if (event.text("name") == "iteration" || event.text("ph") != "B" || !time_ns || *time_ns < 0 ||
        *time_ns >= ended_ns_)
      return;
    timeline_.repairs.add(RepairKind::kMissingBegin, where(event.index()) + ", its iteration");
    enter_iteration();
  }
  Status begin(const JsonEvent& event, double time_ns) {
    if (event.text("name").empty()) return Status::error("\"name\" is missing or empty");
    see_operation(event);
    if (time_ns < 0) return Status::error("\"rel_ts\" is negative");
    is_iteration_empty_ = false;
    open_.begin({.name = timeline_.name_index(event.text("name")), .step = step_},
                static_cast<std::int64_t>(time_ns), event.index());
    return Status::ok();
  }
  /// The track of the main stream comes first.
  void see_operation(const JsonEvent& event) {
    if (!std::exchange(has_operations_, true)) (void)track_of(definitions_.main_stream(), event);
  }
  Status end(const JsonEvent& event, double time_ns) {
    if (event.text("name").empty()) return Status::error("\"name\" is missing or empty");
    if (time_ns < 0) return Status::error("\"rel_ts\" is negative");
    see_operation(event);
    OpenOperations::Open ended;
    auto end_ns = static_cast<std::int64_t>(time_ns);
    switch (open_.end(timeline_.name_index(event.text("name")), end_ns, ended)) {
      case OpenOperations::Found::kBegin:
        break;
      case OpenOperations::Found::kCopy:
        timeline_.repairs.add(RepairKind::kDuplicate, where(event.index()));
        return Status::ok();
      case OpenOperations::Found::kNothing:
        estimate(RepairKind::kMissingBegin, Estimate::Of::kBegin, event.index());
        ended.operation = {.name = timeline_.name_index(event.text("name")), .step = step_};
        ended.begin_ns = end_ns;
    }
    if (end_ns < ended.begin_ns) {
      estimate(RepairKind::kNegativeDuration, Estimate::Of::kSign, event.index());
      end_ns = ended.begin_ns + (ended.begin_ns - end_ns);
    }
    return keep(event, ended.operation, static_cast<double>(ended.begin_ns),
                static_cast<double>(end_ns));
  }
  Status keep(const JsonEvent& event, Operation operation, double specified_begin_ns,
              double specified_end_ns) {
    const double begin_ns = event.number("uncut_begin").value_or(specified_begin_ns);
    const double end_ns = event.number("uncut_end").value_or(specified_end_ns);
    if (!(begin_ns >= 0 && end_ns >= begin_ns && end_ns <= kMaxNs))
      return Status::error("\"uncut_begin\" or \"uncut_end\" is out of range");
    operation.begin_ns = static_cast<std::uint64_t>(begin_ns);
    operation.end_ns = static_cast<std::uint64_t>(end_ns);
    operation.track = track_of(
        event.text("stream").empty() ? definitions_.main_stream() : event.text("stream"), event);
    for (const char* name : {"micro_batch_index", "microbatch"}) {
      if (const auto value = event.number(name); value && *value >= 0 && *value < 2e9)
        operation.micro_batch = static_cast<std::int32_t>(*value);
    }
    if (const auto value = event.number("model_chunk"); value && *value >= 0 && *value < 2e9)
      operation.model_chunk = static_cast<std::int32_t>(*value);
    if (const auto value = event.number("data"); value && *value >= 0 && *value < kMaxNs)
      operation.bytes = static_cast<std::uint64_t>(*value);
    if (const auto value = event.number("seq_id"); value && *value >= 0 && *value < 2e9)
      operation.sequence = static_cast<std::int32_t>(*value);
    const Status status = definitions_.are_specified() ? definitions_.report(event, operation)
                                                       : Status::ok();
    timeline_.operations.push_back(operation);
    iteration().length_ns = std::max(iteration().length_ns, end_ns);
    return status;
  }
  std::string where(std::size_t event) const { return name_ + ", event " + std::to_string(event); }
  /// Of the operation that is kept next.
  void estimate(RepairKind kind, Estimate::Of of, std::size_t event) {
    timeline_.repairs.add(kind, where(event));
    timeline_.estimates.push_back({static_cast<std::uint32_t>(timeline_.operations.size()), of});
  }
  /// What does not end in its iteration.
  void end_all_open() {
    open_.take_rest([this](const OpenOperations::Open& open) {
      if (open.is_copy) {
        timeline_.repairs.add(RepairKind::kDuplicate, where(open.event));
        return;
      }
      estimate(RepairKind::kMissingEnd, Estimate::Of::kEnd, open.event);
      Operation operation = open.operation;
      operation.begin_ns = operation.end_ns = static_cast<std::uint64_t>(open.begin_ns);
      iteration().length_ns = std::max(iteration().length_ns, static_cast<double>(open.begin_ns));
      operation.track = tracks_.at(definitions_.main_stream());
      timeline_.operations.push_back(operation);
    });
  }
  std::uint32_t track_of(const std::string& stream, const JsonEvent& event) {
    const auto [at, is_new] = tracks_.try_emplace(
        stream, static_cast<std::uint32_t>(timeline_.tracks.size()));
    if (is_new)
      timeline_.tracks.push_back({.coordinates = coordinates_,
                                  .stream = stream,
                                  .world_rank = kUnknown,
                                  .definitions = definitions_.index()});
    Track& track = timeline_.tracks[at->second];
    if (const auto rank = event.number("g_rk");
        track.world_rank == kUnknown && rank && *rank >= 0 && *rank < 1 << 24)
      track.world_rank = static_cast<std::int32_t>(*rank);
    return at->second;
  }

  Timeline& timeline_;
  const GridCoordinates& coordinates_;
  std::string name_;
  std::vector<Iteration>& iterations_;
  MegascanDefinitions definitions_;
  std::map<std::string, std::uint32_t> tracks_;  ///< by stream
  OpenOperations open_;
  double ended_ns_ = 0.0;  ///< of the last iteration
  std::int32_t step_ = -1;
  bool is_inside_ = false;
  bool is_iteration_empty_ = true;
  bool has_operations_ = false;
};

Status read_worker(const fs::path& path, const GridCoordinates& coordinates, Timeline& timeline,
                   std::vector<Iteration>& iterations) {
  GzipBuffer buffer(path.string());
  if (!buffer.is_open()) return Status::error("cannot open " + path.string());
  std::istream from(&buffer);
  WorkerFile file(timeline, coordinates, path.filename().string(), iterations);
  const Status status = read_json_events(
      from, "traceEvents", [&file](const JsonEvent& event) { return file.add(event); });
  if (!status.is_ok()) return Status::error(path.string() + ": " + status.message());
  file.finish();
  if (!file.has_operations()) timeline.tracks.push_back({.coordinates = coordinates, .stream = ""});
  return Status::ok();
}

/// A worker whose file is damaged is omitted, with a note.
Status read_or_leave_out(const fs::path& path, const GridCoordinates& coordinates,
                         Timeline& timeline, std::vector<Iteration>& iterations) {
  const std::size_t operations = timeline.operations.size();
  const std::size_t tracks = timeline.tracks.size();
  const std::size_t estimates = timeline.estimates.size();
  const Repairs repairs = timeline.repairs;
  const std::vector<Iteration> before = iterations;
  const Status status = read_worker(path, coordinates, timeline, iterations);
  if (status.is_ok()) return status;
  timeline.operations.resize(operations);
  timeline.tracks.resize(tracks);
  timeline.estimates.resize(estimates);
  timeline.repairs = repairs;
  iterations = before;
  timeline.notes.push_back(status.message() + "; this worker was omitted");
  return status;
}

Status check_no_worker_is_there_twice(
    const std::vector<std::pair<fs::path, GridCoordinates>>& files) {
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, fs::path> seen;
  for (const auto& [path, coordinates] : files) {
    const auto [at, is_new] = seen.try_emplace({coordinates.dp, coordinates.pp, coordinates.tp},
                                               path);
    if (!is_new)
      return Status::error(at->second.string() + " and " + path.filename().string() +
                           " belong to the same worker");
  }
  return Status::ok();
}

/// Begin of each iteration. Returns true if the files contain it; false: iterations are placed one
/// after the other.
bool find_begins(const std::vector<Iteration>& iterations, std::vector<double>& begins_ns) {
  const bool are_specified = std::all_of(
      iterations.begin(), iterations.end(),
      [](const Iteration& iteration) { return iteration.begin_ns.has_value(); });
  double now_ns = 0.0;
  for (const Iteration& iteration : iterations) {
    begins_ns.push_back(are_specified ? *iteration.begin_ns : now_ns + iteration.pause_ns);
    now_ns = begins_ns.back() + iteration.length_ns;
  }
  return are_specified;
}

}  // namespace

Status read_megascan(const std::string& directory, Timeline& timeline) {
  std::vector<std::pair<fs::path, GridCoordinates>> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (const std::optional<GridCoordinates> coordinates = coordinates_of(
            entry.path().filename().string()))
      files.emplace_back(entry.path(), *coordinates);
  }
  if (error) return Status::error("cannot read " + directory + ": " + error.message());
  if (files.empty())
    return Status::error("no benchmark-data-<D>-pipeline-<P>-tensor-<T>.json in " + directory);
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  if (Status twice = check_no_worker_is_there_twice(files); !twice.is_ok()) return twice;
  std::vector<Iteration> iterations;
  Status worst;
  std::size_t read_count = 0;
  for (const auto& [path, coordinates] : files) {
    const Status status = read_or_leave_out(path, coordinates, timeline, iterations);
    worst.update(status);
    read_count += status.is_ok() ? 1 : 0;
  }
  if (read_count == 0) return worst;
  std::vector<double> begins_ns;
  const bool are_specified = find_begins(iterations, begins_ns);
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (begins_ns[i] + iterations[i].length_ns <= kMaxNs) continue;
    return Status::error("the total duration of the " + std::to_string(iterations.size()) +
                         " iterations in " + directory + " is out of range");
  }
  for (Operation& operation : timeline.operations) {
    const auto index = static_cast<std::size_t>(operation.step);
    const auto begin_ns = static_cast<std::uint64_t>(begins_ns[index]);
    operation.begin_ns += begin_ns;
    operation.end_ns += begin_ns;
    if (are_specified) operation.step = iterations[index].step;
  }
  if (!are_specified)
    timeline.notes.emplace_back(
        "clocks of the workers were never compared: every iteration is assumed to begin on all of "
        "them at the same time");
  return Status::ok();
}

}  // namespace megascope::importer
