#include "exporters/chrome/process_events.h"

#include "core/record/message_order.h"
#include "exporters/chrome/findings.h"
#include "exporters/common/names.h"
#include "exporters/common/utf8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace megascope::chrome {
namespace {

using timeline::Argument;
using timeline::CallArguments;

constexpr std::uint64_t kProgressCalls = 1U << 16;
constexpr std::size_t kFlushBytes = 64 * 1024;
constexpr std::string_view kUnknownRegion = R"("name":"unknown region","cat":"unknown")";

constexpr std::int64_t kFirstFindingTid = 1 << 24;

/// Color names of the viewer.
std::string_view wait_color(std::uint32_t kind) {
  constexpr std::array<std::string_view, 8> kColors = {
      "grey", "terrible", "thread_state_uninterruptible", "yellow",
      "bad",  "olive",    "thread_state_iowait",          "thread_state_unknown"};
  return kColors[kind % kColors.size()];
}

std::int64_t tid_of(LocationId location) { return std::int64_t{location} + 1; }

std::string named(std::string_view name) {
  return R"({"name":")" + timeline::json_escaped(name) + "\"}";
}

std::string sorted_at(std::int64_t index) {
  return R"({"sort_index":)" + std::to_string(index) + "}";
}

}  // namespace

ProcessEvents::ProcessEvents(const RecordSource& source, std::int32_t world_rank, DeflatePart& part,
                             bool is_first, const Annotations* annotations)
    : source_(source),
      process_(source.process(world_rank)),
      world_rank_(world_rank),
      world_ranks_(process_),
      arrows_(process_),
      part_(part),
      is_first_(is_first),
      annotations_(annotations) {
  if (annotations != nullptr) waits_ = timeline::WaitCursor(annotations->waits_of(world_rank));
  for (const RegionDefinition& region : process_.regions) {
    if (region.id >= regions_.size())
      regions_.resize(region.id + std::size_t{1}, std::string(kUnknownRegion));
    regions_[region.id] = R"("name":")" + timeline::json_escaped(region.name) + R"(","cat":")" +
                          timeline::json_escaped(timeline::category(region)) + '"';
  }
  for (const CommDefinition& comm : process_.comms)
    comms_.push_back(timeline::json_escaped(timeline::comm_name(comm)));
  for (const WindowDefinition& window : process_.windows) {
    windows_.push_back(timeline::json_escaped(timeline::window_name(window)));
  }
  for (const CallSiteDefinition& site : process_.call_sites)
    sites_.push_back(timeline::json_escaped(place_of(site)));
  for (const FileDefinition& file : process_.files)
    files_.push_back(timeline::json_escaped(timeline::file_name(file)));
}

void ProcessEvents::write(const std::function<void(std::uint64_t)>& progress) {
  write_metadata();
  const MessageOrder order = MessageOrder::of(source_, world_rank_);
  timeline::Timeline timeline(source_, world_rank_, order);
  timeline::Event event;
  std::uint64_t call_count = 0;
  while (timeline.next(event)) {
    if (event.kind == timeline::Event::Kind::kLeave) continue;
    if (event.kind == timeline::Event::Kind::kPoint) {
      add_point(event);
      continue;
    }
    add_call(event);
    if (!waits_.is_empty()) add_wait(event);
    add_facts(event);
    if (++call_count % kProgressCalls == 0 && progress) progress(kProgressCalls);
    if (text_.size() < kFlushBytes) continue;
    part_.write(text_.view());
    text_.clear();
  }
  part_.write(text_.view());
  text_.clear();
  if (progress) progress(call_count % kProgressCalls);
}

/// Counters belong to the process, not to the thread that sets them. JSON cannot express non-finite
/// numbers.
void ProcessEvents::add_point(const timeline::Event& event) {
  const Point& point = *event.point;
  if (point.kind == PointKind::kRangeStart || point.kind == PointKind::kRangeStop)
    return add_range(event);
  if (point.kind == PointKind::kCounter) {
    if (point.id >= process_.counters.size() || !std::isfinite(point.value)) return;
    begin_event('C') << R"(,"name":")" << timeline::json_escaped(process_.counters[point.id].name)
                     << "\"";
  } else if (point.kind == PointKind::kMark) {
    begin_event('i') << "," << region_text(static_cast<RegionId>(point.id)) << R"(,"s":"t")";
  } else {
    begin_event('i') << R"(,"name":")"
                     << timeline::json_escaped(timeline::tensor_name(process_, point.id))
                     << R"(","cat":"tensor","s":"t")";
  }
  add_place(event.location, event.time_ns);
  if (point.kind == PointKind::kCounter) (text_ << R"(,"args":{"value":)").real(point.value) << "}";
  if (point.kind == PointKind::kTensor) add_tensor(point);
  end_event();
}

/// Ranges belong to the process; their arguments say which threads started and stopped them. A
/// range without a start is not shown.
void ProcessEvents::add_range(const timeline::Event& event) {
  const Point& point = *event.point;
  const bool is_start = point.kind == PointKind::kRangeStart;
  if (!(is_start ? ranges_.insert(point.range).second : ranges_.erase(point.range) != 0)) return;
  begin_event(is_start ? 'b' : 'e')
      << "," << region_text(static_cast<RegionId>(point.id)) << R"(,"id2":{"local":"range 0x)";
  text_.hex(point.range) << R"("})";
  add_place(event.location, event.time_ns);
  end_event();
}

void ProcessEvents::add_tensor(const Point& point) {
  const TensorShape& shape = point.tensor;
  text_ << R"(,"args":{"kind":")" << kTensorKindNames[static_cast<std::size_t>(shape.kind)]
        << R"(","shape":")" << timeline::shape_text(shape) << "\"";
  if (shape.layer != kNoLayer) text_ << R"(,"layer":)" << std::int64_t{shape.layer};
  if (shape.micro_batch != kNoMicroBatch)
    text_ << R"(,"micro_batch":)" << std::int64_t{shape.micro_batch};
  if (shape.split_dimension >= 0)
    text_ << R"(,"split_dimension":)" << std::int64_t{shape.split_dimension};
  text_ << "}";
}

/// A slice within the slice of the call; its color depends on the kind.
void ProcessEvents::add_wait(const timeline::Event& event) {
  const WaitAnnotation* const wait = waits_.of(event.location, event.call->enter_ns,
                                               event.call->leave_ns);
  if (wait == nullptr || event.time_ns != wait->begin_ns || event.leave_ns < wait->end_ns) return;
  begin_event('X') << R"(,"name":")"
                   << timeline::json_escaped(timeline::wait_name(*annotations_, *wait))
                   << R"(","cat":"wait","cname":")" << wait_color(wait->kind) << "\"";
  add_place(event.location, wait->begin_ns);
  text_ << R"(,"dur":)";
  text_.time_us(wait->end_ns - wait->begin_ns);
  text_ << R"(,"args":{"waits_for":)" << std::int64_t{wait->waits_for} << "}";
  end_event();
}

/// On a track above the threads, one row for each finding.
void ProcessEvents::add_findings() {
  if (annotations_ == nullptr) return;
  std::int64_t tid = kFirstFindingTid;
  for (const Annotation& finding : annotations_->findings) {
    ++tid;
    if (std::ranges::find(finding.world_ranks, world_rank_) == finding.world_ranks.end()) continue;
    add_metadata("thread_name", tid, named("finding"));
    add_metadata("thread_sort_index", tid, sorted_at(-1));
    begin_event('X') << "," << finding_text(finding) << R"(,"pid":)" << std::int64_t{world_rank_}
                     << R"(,"tid":)" << tid;
    end_event();
  }
}

void ProcessEvents::write_metadata() {
  constexpr std::int64_t kNoTid = 0;
  add_metadata("process_name", kNoTid, named(timeline::process_name(process_.info)));
  add_metadata("process_sort_index", kNoTid, sorted_at(world_rank_));
  for (const LocationDefinition& location : process_.locations) {
    add_metadata("thread_name", tid_of(location.id), named(timeline::thread_name(location)));
    add_metadata("thread_sort_index", tid_of(location.id), sorted_at(location.id));
  }
  add_findings();
}

void ProcessEvents::add_metadata(std::string_view name, std::int64_t tid,
                                 std::string_view arguments) {
  begin_event('M') << R"(,"name":")" << name << R"(","pid":)" << std::int64_t{world_rank_};
  if (tid != 0) text_ << R"(,"tid":)" << tid;
  text_ << R"(,"args":)" << arguments;
  end_event();
}

JsonText& ProcessEvents::begin_event(char phase) {
  text_ << (is_first_ ? "\n" : ",\n") << R"({"ph":")" << std::string_view(&phase, 1) << "\"";
  is_first_ = false;
  ++event_count_;
  return text_;
}

void ProcessEvents::add_place(LocationId location, std::uint64_t time_ns) {
  text_ << R"(,"pid":)" << std::int64_t{world_rank_} << R"(,"tid":)" << tid_of(location)
        << R"(,"ts":)";
  text_.time_us(time_ns);
}

void ProcessEvents::end_event() { text_ << "}"; }

std::string_view ProcessEvents::region_text(RegionId region) const {
  return region < regions_.size() && !regions_[region].empty() ? std::string_view(regions_[region])
                                                               : kUnknownRegion;
}

CollectiveOp ProcessEvents::operation_of(RegionId region) const {
  const RegionDefinition* definition = process_.region(region);
  return definition == nullptr ? CollectiveOp::kNone : definition->collective_op;
}

void ProcessEvents::add_call(const timeline::Event& event) {
  begin_event('X') << "," << region_text(event.call->region);
  add_place(event.location, event.time_ns);
  text_ << R"(,"dur":)";
  text_.time_us(event.leave_ns - event.time_ns);
  add_arguments(CallArguments::of(*event.call, world_ranks_, world_rank_));
  end_event();
}

void ProcessEvents::add_arguments(const CallArguments& arguments) {
  if (arguments.begin() == arguments.end()) return;
  std::string_view separator = R"(,"args":{")";
  for (const Argument& argument : arguments) {
    text_ << separator << timeline::argument_name(argument.name) << R"(":)";
    separator = R"(,")";
    switch (argument.kind) {
      case Argument::Kind::kNumber:
        text_ << argument.number;
        break;
      case Argument::Kind::kReal:
        add_real(std::bit_cast<double>(argument.number));
        break;
      case Argument::Kind::kAny:
        text_ << "\"" << timeline::kAnyText << "\"";
        break;
      case Argument::Kind::kTrue:
        text_ << "true";
        break;
      case Argument::Kind::kComm:
        add_name(comms_, argument.number);
        break;
      case Argument::Kind::kWindow:
        add_name(windows_, argument.number);
        break;
      case Argument::Kind::kCallSite:
        add_name(sites_, argument.number);
        break;
      case Argument::Kind::kFile:
        add_name(files_, argument.number);
        break;
    }
  }
  text_ << "}";
}

/// Writes null for non-finite numbers, which JSON cannot express.
void ProcessEvents::add_real(double number) {
  if (std::isfinite(number))
    text_.real(number);
  else
    text_ << (std::isnan(number) ? R"("nan")" : number > 0 ? R"("inf")" : R"("-inf")");
}

void ProcessEvents::add_name(const std::vector<std::string>& names, std::int64_t id) {
  const auto index = static_cast<std::size_t>(id);
  text_ << "\"" << (index < names.size() ? std::string_view(names[index]) : "unknown") << "\"";
}

}  // namespace megascope::chrome
