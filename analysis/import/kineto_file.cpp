#include "analysis/import/kineto_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace megascope::importer {
namespace {

constexpr double kMaxUs = 4e15;  // since 1970: the year 2096
constexpr std::int64_t kMaxNs = 4'000'000'000'000'000'000;
constexpr std::int32_t kMaxRanks = 1 << 24;
constexpr std::string_view kStepPrefix = "ProfilerStep#";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, text) != all.end();
}

std::int64_t integer(const JsonEvent& event, const char* name, std::int64_t least,
                     std::int64_t most) {
  const std::optional<double> value = event.argument(name);
  const bool is_fit = value && *value == std::floor(*value) &&
                      *value >= static_cast<double>(least) && *value <= static_cast<double>(most);
  return is_fit ? static_cast<std::int64_t>(*value) : kUnknown;
}

std::vector<std::int32_t> ranks_in(const std::string& text) {
  bool is_whole = false;
  std::vector<std::int32_t> ranks;
  for (const double rank : numbers_in(text, is_whole)) {
    if (!(rank >= 0 && rank < kMaxRanks && rank == std::floor(rank))) return {};
    ranks.push_back(static_cast<std::int32_t>(rank));
  }
  return is_whole ? ranks : std::vector<std::int32_t>();
}

/// "gloo:all_reduce": what PyTorch calls an operation of a library on the CPU.
bool is_of_cpu_library(std::string_view name) {
  return name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:");
}

std::string trimmed(const std::string& text) {
  const std::size_t end = text.find_last_not_of(' ');
  return end == std::string::npos ? std::string() : text.substr(0, end + 1);
}

}  // namespace

Status KinetoFile::read(std::istream& from) {
  Status status = read_json_events(
      from, "traceEvents", [this](const JsonEvent& event) { return add(event); }, &header_);
  if (!status.is_ok()) return status;
  if (header_.base_ns && !(*header_.base_ns >= 0 && *header_.base_ns <= kMaxNs))
    return Status::error("\"baseTimeNanoseconds\" is out of range");
  const bool has_operations = timeline_.operations.size() > first_operation_;
  if (!has_operations) return Status::error("it contains no operations");
  if (has_clock() && header_.base_ns && (first_ns_ < -kMaxNs || last_ns_ > kMaxNs))
    return Status::error("times are out of range");
  return status;
}

Status KinetoFile::add(const JsonEvent& event) {
  const std::string& phase = event.text("ph");
  if (phase == "X") return add_operation(event);
  if (phase == "M") {
    if (event.text("name") == "thread_name")
      track_names_[{event.id("pid"), event.id("tid")}] = trimmed(event.argument_text("name"));
  } else {
    ++ignored_count_;
  }
  return Status::ok();
}

KinetoFile::Source KinetoFile::source_of(const JsonEvent& event) const {
  const std::string& kind = event.text("cat");
  if (is_one_of(kind, {"kernel", "gpu_memcpy", "gpu_memset"})) return Source::kGpu;
  if (is_one_of(kind, {"cpu_op", "operator"})) return Source::kCpu;
  if (!kind.empty()) return Source::kOther;
  return event.text("pid") == "CUDA functions" ? Source::kGpu
                                               : Source::kCpu;  // PyTorch built without Kineto
}

Status KinetoFile::add_operation(const JsonEvent& event) {
  // Spans of the profiler itself, and what repeats other events on the row of a GPU.
  if (is_one_of(event.text("cat"), {"Trace", "gpu_user_annotation", "cuda_sync", "overhead"}) ||
      event.text("pid") == "Spans") {
    ++ignored_count_;
    return Status::ok();
  }
  timeline_.repairs.add_event();
  WholeEvent whole;
  const Status status = read_whole(event, kMaxUs, whole);
  if (!status.is_ok()) return status;
  const std::string& name = event.text("name");
  const bool is_step = name.starts_with(kStepPrefix);
  const Source source = is_step ? Source::kOther : source_of(event);
  const std::string& specified = event.argument_text("Collective name");
  const bool is_cpu_call = source != Source::kGpu &&
                           (is_of_cpu_library(name) ||
                            (name == "record_param_comms" && !specified.empty()));
  const bool is_nccl = source == Source::kGpu &&
                       (!specified.empty() || name.starts_with("nccl") || name.starts_with("rccl"));
  CommunicationName communication = is_cpu_call || is_nccl
                                        ? communication_of(specified.empty() ? name : specified)
                                        : CommunicationName{};
  if (is_nccl && communication.kind == CommunicationName::Kind::kNone)
    communication = {CommunicationName::Kind::kOther, CollectiveOp::kNone,
                     RegionRole::kPointToPoint};
  const bool is_call = communication.kind != CommunicationName::Kind::kNone;
  std::string region = is_step ? "ProfilerStep" : is_nccl ? name.substr(0, name.find('(')) : name;
  if (is_call && !specified.empty())
    region = (source == Source::kGpu ? "nccl:" : "c10d:") + specified;
  const auto operation = timeline_.operations.size();
  const std::uint32_t index = timeline_.name_index(region);
  define(index, source, communication);
  keep(timeline_,
       {.name = index,
        .track = track_of(event, source),
        .may_repeat = source != Source::kGpu && !is_call},
       whole, whole.repair ? file_ + ", event " + std::to_string(event.index()) : std::string());
  first_ns_ = std::min(first_ns_, whole.begin_ns);
  last_ns_ = std::max(last_ns_, whole.end_ns);
  if (is_step) add_step(name, whole);
  if (source == Source::kGpu)
    gpu_.push_back({operation, integer(event, "correlation", 1, INT64_C(1) << 53)});
  else if (source == Source::kCpu || is_call)
    cpu_.push_back(operation);
  else if (const std::int64_t correlation = integer(event, "correlation", 1, INT64_C(1) << 53);
           correlation > 0)
    launches_.try_emplace(correlation, whole.begin_ns);
  if (is_call) add_call(event, communication, region);
  return Status::ok();
}

void KinetoFile::add_step(const std::string& name, const WholeEvent& whole) {
  Step step{whole.begin_ns, whole.end_ns, 0};
  const char* begin = name.data() + kStepPrefix.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), step.number);
  if (error == std::errc{} && end != begin && step.number >= 0) steps_.push_back(step);
}

void KinetoFile::add_call(const JsonEvent& event, CommunicationName name,
                          const std::string& region) {
  KinetoCall call;
  call.operation = timeline_.operations.size() - 1;
  call.name = name;
  call.group = event.argument_text("Process Group Name");
  call.members = ranks_in(event.argument_text("Process Group Ranks"));
  call.group_size = static_cast<std::int32_t>(integer(event, "Group size", 1, kMaxRanks));
  call.sequence = integer(event, "Seq", 0, UINT32_MAX);
  const bool is_send = name.kind == CommunicationName::Kind::kSend;
  call.peer = static_cast<std::int32_t>(
      integer(event, is_send ? "Dst Rank" : "Src Rank", 0, kMaxRanks - 1));
  const std::uint64_t bytes = element_bytes(event.argument_text("dtype"));
  call.bytes_in = static_cast<std::uint64_t>(std::max<std::int64_t>(
                      integer(event, "In msg nelems", 0, INT64_C(1) << 48), 0)) *
                  bytes;
  call.bytes_out = static_cast<std::uint64_t>(std::max<std::int64_t>(
                       integer(event, "Out msg nelems", 0, INT64_C(1) << 48), 0)) *
                   bytes;
  if (region.starts_with("c10d:")) ++specified_call_count_;
  calls_.push_back(std::move(call));
}

void KinetoFile::define(std::uint32_t name, Source source, CommunicationName communication) {
  if (name >= timeline_.regions.size()) timeline_.regions.resize(name + std::size_t{1});
  RegionDefinition& region = timeline_.regions[name];
  if (!region.name.empty()) return;
  region.name = timeline_.names[name];
  region.paradigm = Paradigm::kUser;
  region.role = communication.role;
  region.collective_op = communication.op;
  const bool is_collective = communication.kind == CommunicationName::Kind::kCollective;
  const char* const work = source == Source::kGpu ? "gpu" : "cpu";
  region.group = communication.kind == CommunicationName::Kind::kNone ? work
                 : is_collective                                      ? "coll"
                                                                      : "p2p";
}

/// Until place(): a number among the tracks of this file.
std::uint32_t KinetoFile::track_of(const JsonEvent& event, Source source) {
  const auto [at, is_new] = tracks_.try_emplace({event.id("pid"), event.id("tid")});
  if (is_new) {
    const std::string& text = event.text("tid");
    at->second = {source, static_cast<std::uint32_t>(tracks_.size() - 1),
                  (source == Source::kGpu ? "stream " : "thread ") +
                      (text.empty() ? std::to_string(event.id("tid")) : text)};
  }
  return at->second.index;
}

std::int32_t KinetoFile::step_at(std::int64_t time_ns) const {
  const auto next = std::ranges::upper_bound(steps_, time_ns, {}, &Step::begin_ns);
  return next != steps_.begin() && time_ns < (next - 1)->end_ns ? (next - 1)->number : kUnknown;
}

void KinetoFile::set_steps() {
  std::ranges::sort(steps_, {}, &Step::begin_ns);
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i)
    steps_[i].end_ns = std::max(steps_[i].end_ns, steps_[i + 1].begin_ns);
  for (const Started& started : gpu_) {
    const auto launch = launches_.find(started.correlation);
    timeline_.operations[started.operation].step = step_at(
        launch != launches_.end() ? launch->second : begin_of(started.operation));
  }
  if (!gpu_.empty()) return;
  for (const std::size_t operation : cpu_)
    timeline_.operations[operation].step = step_at(begin_of(operation));
}

void KinetoFile::coordinates(std::int32_t rank, std::int32_t definitions, Tracks& tracks,
                             std::size_t end_operation) {
  set_steps();
  std::vector<std::uint32_t> index(tracks_.size());
  for (const auto& [key, track] : tracks_) {
    const auto specified = track_names_.find(key);
    const std::string name = specified != track_names_.end() && !specified->second.empty()
                                 ? specified->second
                                 : track.fallback;
    const auto [at, is_new] = tracks.try_emplace(
        {name, track.source == Source::kGpu ? key.first : -1},
        static_cast<std::uint32_t>(timeline_.tracks.size()));
    if (is_new)
      timeline_.tracks.push_back({.coordinates = {.rank = rank},
                                  .stream = name,
                                  .world_rank = rank,
                                  .definitions = definitions});
    index[track.index] = at->second;
  }
  for (std::size_t i = first_operation_; i < end_operation; ++i)
    timeline_.operations[i].track = index[timeline_.operations[i].track];
  // On the CPU, calls of the library itself show no group where others do; those then tell it all.
  const bool has_specified = specified_call_count_ != 0;
  std::erase_if(calls_, [&](const KinetoCall& call) {
    return !gpu_.empty()
               ? timeline_.regions[timeline_.operations[call.operation].name].name.starts_with(
                     "c10d:")
               : has_specified && call.group.empty() && call.group_size == kUnknown;
  });
  for (KinetoCall& call : calls_) call.rank = rank;
}

}  // namespace megascope::importer
