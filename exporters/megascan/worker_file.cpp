#include "exporters/megascan/worker_file.h"

#include "exporters/common/names.h"
#include "exporters/common/timeline.h"
#include "exporters/common/utf8.h"

#include <algorithm>
#include <numeric>

namespace megascope::megascan {
namespace {

constexpr std::uint64_t kProgressCalls = 1U << 16;
constexpr std::size_t kFlushBytes = 64 * 1024;
constexpr std::string_view kUnknownRegion = "unknown region";
constexpr std::string_view kIteration = "iteration";
// "iteration" itself is MegaScan's name.
constexpr const char* kInsteadOfIteration = "iteration (region)";

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

bool is_work(const RegionDefinition& region) {
  const bool is_code = region.role == RegionRole::kCode || region.role == RegionRole::kFunction ||
                       region.role == RegionRole::kUnknown;
  return is_code && region.paradigm != Paradigm::kMpi;
}

std::string text_of(const GridCoordinates& coordinates, std::int32_t world_rank) {
  return ",\"dp_rk\":" + std::to_string(coordinates.index[0]) +
         ",\"pp_rk\":" + std::to_string(coordinates.index[1]) +
         ",\"tp_rk\":" + std::to_string(coordinates.index[2]) +
         ",\"dev\":0,\"g_rk\":" + std::to_string(world_rank);
}

}  // namespace

WorkerFile::WorkerFile(const RecordSource& source, std::int32_t world_rank,
                       const GridCoordinates& coordinates, const Iterations& iterations,
                       timeline::JointFile& file)
    : source_(source),
      process_(source.process(world_rank)),
      world_rank_(world_rank),
      coordinates_(coordinates),
      iterations_(iterations),
      file_(file),
      facts_(process_),
      coordinates_text_(text_of(coordinates, world_rank)) {
  for (const RegionDefinition& region : process_.regions) {
    if (region.id >= names_.size())
      names_.resize(region.id + std::size_t{1}, std::string(kUnknownRegion));
    if (region.id >= is_work_.size()) is_work_.resize(region.id + std::size_t{1});
    names_[region.id] = region.name == kIteration ? kInsteadOfIteration
                                                  : timeline::json_escaped(region.name);
    is_work_[region.id] = is_work(region);
  }
  for (const LocationDefinition& location : process_.locations) {
    streams_.push_back(timeline::json_escaped(timeline::thread_name(location)));
    if (location.is_main) main_ = location.id;
  }
}

void WorkerFile::write(const std::function<void(std::uint64_t)>& progress, Tally& tally) {
  collect(progress, tally);
  std::vector<std::uint32_t> order(operations_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {},
                           [this](std::uint32_t index) { return operations_[index].iteration; });
  auto first = order.begin();
  for (std::size_t i = 0; i < iterations_.all().size(); ++i) {
    const auto last = std::find_if(
        first, order.end(), [&](std::uint32_t index) { return operations_[index].iteration != i; });
    write_iteration(i, {first, last}, tally);
    first = last;
  }
  text_ << "\n]\n";
  flush();
  tally.rows += row_count_;
}

void WorkerFile::collect(const std::function<void(std::uint64_t)>& progress, Tally& tally) {
  const MessageOrder nothing;
  timeline::Timeline timeline(source_, world_rank_, nothing);
  std::uint64_t call_count = 0;
  OpenSteps steps;
  for (timeline::Event event; timeline.next(event);) {
    const std::int32_t step = steps.follow(event);
    if (event.kind == timeline::Event::Kind::kPoint) ++tally.points;
    if (event.kind != timeline::Event::Kind::kEnter) continue;
    add(event, step, tally);
    if (++call_count % kProgressCalls == 0 && progress) progress(kProgressCalls);
  }
  if (progress) progress(call_count % kProgressCalls);
}

void WorkerFile::add(const timeline::Event& event, std::int32_t step, Tally& tally) {
  const Call& call = *event.call;
  const std::size_t iteration = iterations_.index_of(
      iterations_.all().front().step == kNoStep ? kNoStep : step);
  if (iteration == iterations_.all().size()) {
    ++tally.calls_outside;
    return;
  }
  Operation operation{.begin_ns = event.time_ns,
                      .end_ns = event.leave_ns,
                      .details_at = details_.size(),
                      .iteration = static_cast<std::uint32_t>(iteration),
                      .location = event.location,
                      .region = call.region};
  const bool is_known = call.region < names_.size();
  operation.is_work = is_known && is_work_[call.region];
  const RegionDefinition* const region = process_.region(call.region);
  facts_.write(call, region == nullptr ? kUnknownRegion : std::string_view(region->name), details_,
               tally);
  if (call.is_pending) details_ << ",\"unfinished\":1";
  operation.details_bytes = static_cast<std::uint32_t>(details_.size() - operation.details_at);
  operations_.push_back(operation);
  ++tally.calls;
}

void WorkerFile::write_iteration(std::size_t index, std::span<const std::uint32_t> operations,
                                 Tally& tally) {
  const Iteration& iteration = iterations_.all()[index];
  begin_row(kIteration, 'B') << ",\"pad_before\":" << number(iterations_.pause_ns(index))
                             << ",\"step\":" << std::int64_t{iteration.step}
                             << ",\"begin_ns\":" << number(iteration.begin_ns);
  end_row();
  if (index == 0) write_definitions();
  std::vector<Slice> slices;
  std::uint64_t end_ns = iteration.begin_ns;
  for (const std::uint32_t at : operations) {
    const Operation& operation = operations_[at];
    slices.push_back({.begin_ns = operation.begin_ns,
                      .end_ns = operation.end_ns,
                      .index = at,
                      .is_work = operation.is_work});
    end_ns = std::max(end_ns, operation.end_ns);
  }
  const auto enter = [&](const Slice& slice) {
    const RegionId region = operations_[slice.index].region;
    begin_row(region < names_.size() ? std::string_view(names_[region]) : kUnknownRegion, 'B');
    add_time(slice.begin_ns - iteration.begin_ns);
    end_row();
  };
  put_on_one_stack(std::move(slices), enter,
                   [&](const Slice& slice) { write_exit(slice, iteration.begin_ns, tally); });
  const std::int64_t length_ns = number(end_ns - iteration.begin_ns);
  begin_row(kIteration, 'E');
  add_time(end_ns - iteration.begin_ns);
  text_ << ",\"duration_wall\":" << length_ns << ",\"duration_cuda\":" << length_ns;
  end_row();
}

void WorkerFile::write_exit(const Slice& shown, std::uint64_t start_ns, Tally& tally) {
  const Operation& operation = operations_[shown.index];
  begin_row(operation.region < names_.size() ? std::string_view(names_[operation.region])
                                             : kUnknownRegion,
            'E');
  add_time(shown.end_ns - start_ns);
  text_ << details_.view().substr(operation.details_at, operation.details_bytes);
  if (operation.location != main_ && operation.location < streams_.size())
    text_ << ",\"stream\":\"" << streams_[operation.location] << "\"";
  const std::uint64_t cut_ns = (operation.end_ns - operation.begin_ns) -
                               (shown.end_ns - shown.begin_ns);
  if (cut_ns != 0) {
    text_ << ",\"uncut_begin\":" << number(operation.begin_ns - start_ns)
          << ",\"uncut_end\":" << number(operation.end_ns - start_ns);
    tally.cut_ns += cut_ns;
    ++tally.cut_calls;
  }
  end_row();
}

void WorkerFile::write_definitions() {
  write_process();
  for (const RegionDefinition& region : process_.regions) write_region(region);
  for (const CommDefinition& comm : process_.comms) write_comm(comm);
}

void WorkerFile::write_process() {
  begin_row("process", 'i');
  add_time(0);
  text_ << ",\"host\":\"" << timeline::json_escaped(process_.info.host) << "\",\"sizes\":["
        << std::int64_t{coordinates_.size[0]} << "," << std::int64_t{coordinates_.size[1]} << ","
        << std::int64_t{coordinates_.size[2]} << "]";
  if (main_ < streams_.size()) text_ << ",\"stream\":\"" << streams_[main_] << "\"";
  end_row();
}

void WorkerFile::write_region(const RegionDefinition& region) {
  begin_row("region", 'i');
  add_time(0);
  text_ << ",\"region\":\"" << names_[region.id] << "\",\"kind\":\""
        << timeline::json_escaped(region.group)
        << "\",\"role\":" << static_cast<std::int64_t>(region.role)
        << ",\"paradigm\":" << static_cast<std::int64_t>(region.paradigm)
        << ",\"op\":" << static_cast<std::int64_t>(region.collective_op);
  end_row();
}

void WorkerFile::write_comm(const CommDefinition& comm) {
  begin_row("communicator", 'i');
  add_time(0);
  text_ << ",\"comm\":" << std::int64_t{comm.id} << ",\"comm_name\":\""
        << timeline::json_escaped(comm.name) << "\",\"global_name\":\"";
  text_.hex(comm.global_name) << "\",\"kind\":" << static_cast<std::int64_t>(comm.kind)
                              << ",\"my_rank\":" << std::int64_t{comm.my_rank};
  if (comm.parent != kNoComm) text_ << ",\"parent\":" << std::int64_t{comm.parent};
  write_ranks("members", comm.members);
  if (!comm.remote_members.empty()) write_ranks("remote_members", comm.remote_members);
  end_row();
}

/// Runs of ranks as repeated first, stride, count.
void WorkerFile::write_ranks(std::string_view key, const std::vector<RankRun>& runs) {
  text_ << ",\"" << key << "\":[";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text_ << (i == 0 ? "" : ",") << std::int64_t{runs[i].first} << ","
          << std::int64_t{runs[i].stride} << "," << std::int64_t{runs[i].count};
  }
  text_ << "]";
}

timeline::JsonText& WorkerFile::begin_row(std::string_view name, char phase) {
  const char row_phase[] = {phase, '\0'};
  return text_ << (row_count_++ == 0 ? "[\n" : ",\n") << "{\"name\":\"" << name << "\",\"ph\":\""
               << row_phase << "\"";
}

void WorkerFile::add_time(std::uint64_t time_ns) {
  text_ << ",\"rel_ts\":" << number(time_ns) << coordinates_text_;
}

void WorkerFile::end_row() {
  text_ << "}";
  if (text_.size() >= kFlushBytes) flush();
}

void WorkerFile::flush() {
  const std::string_view text = text_.view();
  file_.write({text.data(), text.size()});
  text_.clear();
}

}  // namespace megascope::megascan
