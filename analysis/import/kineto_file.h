#pragma once

#include "analysis/import/json_events.h"
#include "analysis/import/kineto_calls.h"
#include "analysis/import/timeline.h"
#include "analysis/import/whole_event.h"

#include <istream>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace megascope::importer {

/// One file of PyTorch's profiler: the operations of a rank. GPU operations get the step of the
/// `ProfilerStep#N` in which they were launched. If the launch is not known, they get the step in
/// which they begin. On a rank without GPU operations, PyTorch's CPU operations get the step in
/// which they begin. Other operations get no step and are only shown. Times are those of the file,
/// in ns; negative times wrap around in Operation.
class KinetoFile {
 public:
  /// file: name of the file, for messages. timeline: must outlive the object.
  KinetoFile(Timeline& timeline, std::string file)
      : timeline_(timeline), file_(std::move(file)), first_operation_(timeline.operations.size()) {}

  /// Reads the file. An error names the event.
  Status read(std::istream& from);
  /// Assigns tracks of this rank, and steps, to the operations of this file, that is, those from
  /// first_operation() up to but not including end_operation. Call after read(). tracks: shared by
  /// all files of the rank.
  using Tracks = std::map<std::pair<std::string, std::int64_t>,
                          std::uint32_t>;  ///< the key is the name of the track and, because names
                                           ///< may be equal, its number
  void coordinates(std::int32_t rank, std::int32_t definitions, Tracks& tracks,
                   std::size_t end_operation);

  const JsonHeader& header() const { return header_; }
  std::vector<KinetoCall>& calls() { return calls_; }
  std::size_t first_operation() const { return first_operation_; }
  /// Returns whether times are from a clock of the node. False if they are relative to the start of
  /// the profile.
  bool has_clock() const { return header_.base_ns.has_value() || first_ns_ > kLongestProfileNs; }
  std::int64_t first_ns() const { return first_ns_; }
  std::int64_t last_ns() const { return last_ns_; }
  /// Returns the number of events that are neither operations nor names.
  std::size_t ignored_count() const { return ignored_count_; }

 private:
  static constexpr std::int64_t kLongestProfileNs = std::int64_t{1'000'000'000} * 86400 * 365;
  enum class Source : std::uint8_t {
    kGpu,   ///< operation on the GPU
    kCpu,   ///< operation of PyTorch on the CPU
    kOther  ///< any other operation
  };
  struct RawTrack {
    Source source = Source::kOther;
    std::uint32_t index = 0;
    std::string fallback;
  };
  struct Step {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int32_t number = 0;
  };
  struct Started {
    std::size_t operation = 0;
    std::int64_t correlation = 0;
  };
  using TrackKey = std::pair<std::int64_t, std::int64_t>;

  Status add(const JsonEvent& event);
  Status add_operation(const JsonEvent& event);
  Source source_of(const JsonEvent& event) const;
  void add_step(const std::string& name, const WholeEvent& whole);
  void add_call(const JsonEvent& event, CommunicationName name, const std::string& region);
  void define(std::uint32_t name, Source source, CommunicationName communication);
  std::uint32_t track_of(const JsonEvent& event, Source source);
  std::int32_t step_at(std::int64_t time_ns) const;
  void set_steps();
  std::int64_t begin_of(std::size_t operation) const {
    return static_cast<std::int64_t>(timeline_.operations[operation].begin_ns);
  }

  Timeline& timeline_;
  std::string file_;
  std::size_t first_operation_;
  JsonHeader header_;
  std::vector<KinetoCall> calls_;
  std::map<TrackKey, RawTrack> tracks_;
  std::map<TrackKey, std::string> track_names_;
  std::vector<Step> steps_;
  std::vector<Started> gpu_;                                 ///< operations on the GPU
  std::vector<std::size_t> cpu_;                             ///< operations of PyTorch on the CPU
  std::unordered_map<std::int64_t, std::int64_t> launches_;  ///< launch time by correlation id
  std::int64_t first_ns_ = INT64_MAX;
  std::int64_t last_ns_ = INT64_MIN;
  std::size_t ignored_count_ = 0;
  std::size_t specified_call_count_ = 0;  ///< calls on the CPU that name their group
};

}  // namespace megascope::importer
