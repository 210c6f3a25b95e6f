#include "analysis/detect/rank_reader.h"

#include "core/base/hash.h"
#include "core/record/mpi_calls.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace megascope::detect {
namespace {

/// New kinds of calls are looked for in the first two steps, and then in every kKindSteps-th one:
/// steps repeat their kinds, and a look-up for each call takes time.
constexpr std::size_t kKindSteps = 16;

}  // namespace

double RankSteps::work_ns(std::size_t step) const {
  const auto& parts = steps[step].work_ns;
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

RankReader::RankReader(const RecordSource& source, std::int32_t world_rank,
                       const std::vector<std::int32_t>& index_of, const RankMarks& marks,
                       const StepMarker& marker)
    : index_of_(index_of),
      marks_(marks),
      index_(static_cast<std::size_t>(index_of[static_cast<std::size_t>(world_rank)])),
      world_ranks_(source.process(world_rank)),
      has_marker_(marker.is_found()),
      ends_(marker) {
  const ProcessDefinitions& process = source.process(world_rank);
  result_.world_rank = world_rank;
  result_.host = process.info.host;
  result_.comm_use.resize(process.comms.size());
  for (const RegionDefinition& region : process.regions) {
    if (name_of_region_.size() <= region.id) name_of_region_.resize(region.id + std::size_t{1});
    name_of_region_[region.id] = std::hash<std::string>()(region.name);
  }
  for (const CommDefinition& comm : process.comms) {
    name_of_comm_.push_back(comm.global_name);
    size_of_comm_.push_back(static_cast<std::uint64_t>(rank_count(comm.members)));
  }
  if (has_steps() && !process.locations.empty())
    calls_ = mpi_calls(source, world_rank, judged_location(process));
}

bool RankReader::fetch() {
  if (!has_call_) has_call_ = calls_->next(call_);
  return has_call_;
}

bool RankReader::ends_step(const Call& call) {
  if (marks_.end_ns == nullptr) return ends_.end_at(call);
  return result_.steps.size() < marks_.end_ns->size() &&
         call.leave_ns >= (*marks_.end_ns)[result_.steps.size()];
}

/// Returns whether the current step ended before this call, by specified step times.
bool RankReader::has_ended_before(const Call& call) const {
  return marks_.end_ns != nullptr && result_.steps.size() < marks_.end_ns->size() &&
         call.enter_ns > (*marks_.end_ns)[result_.steps.size()];
}

/// Returns the begin of the current step if step begins are specified; otherwise 0. UINT64_MAX
/// after the last step.
std::uint64_t RankReader::step_begin_ns() const {
  if (marks_.begin_ns == nullptr) return 0;
  return result_.steps.size() < marks_.begin_ns->size() ? (*marks_.begin_ns)[result_.steps.size()]
                                                        : UINT64_MAX;
}

void RankReader::add_gap(std::uint64_t gap_ns) {
  row_.work_ns[part_of(row_.call_count++)] += static_cast<float>(gap_ns);
}

bool RankReader::read_steps(std::uint64_t min_calls) {
  bool has_read = false;
  for (std::uint64_t count = 0; (!has_read || count < min_calls) && read_step(); has_read = true) {
    count += result_.steps.back().call_count;
  }
  return has_read;
}

/// Processes the calls before the first step: they only set up the program, and the time before
/// them is not work. Returns false if this call is one of them.
bool RankReader::begin(const Call& call) {
  if (result_.begin_ns == 0)
    result_.begin_ns = last_leave_ns_ = marks_.begin_ns != nullptr ? step_begin_ns()
                                                                   : call.enter_ns;
  has_begun_ = marks_.end_ns != nullptr ||
               !call.facts.empty();  // with specified steps, there is no set-up to skip
  if (has_begun_) return true;
  result_.begin_ns = last_leave_ns_ = call.leave_ns;
  return ends_step(call);
}

bool RankReader::read_step() {
  if (calls_ == nullptr) return false;
  for (; fetch(); has_call_ = false) {
    const Call& call = call_;
    if (call.depth != 0) continue;
    if (call.enter_ns < step_begin_ns()) {  // between two steps
      if (!call.facts.empty()) add_facts(call);
      continue;
    }
    if (!has_begun_ && !begin(call)) continue;
    last_leave_ns_ = std::max(last_leave_ns_, step_begin_ns());
    if (has_ended_before(call)) {  // keeps the call for the next step
      const std::uint64_t end_ns = (*marks_.end_ns)[result_.steps.size()];
      add_gap(end_ns > last_leave_ns_ ? end_ns - last_leave_ns_ : 0);
      last_leave_ns_ = std::max(last_leave_ns_, end_ns);
      end_step(end_ns);
      return true;
    }
    add_gap(call.enter_ns > last_leave_ns_ ? call.enter_ns - last_leave_ns_ : 0);
    row_.in_mpi_ns += static_cast<float>(time_inside(call));
    last_leave_ns_ = std::max(last_leave_ns_, call.leave_ns);
    if (!call.facts.empty()) {
      note_kind(call);
      add_facts(call);
    }
    if (!ends_step(call)) continue;
    has_call_ = false;
    end_step(call.leave_ns);
    return true;
  }
  calls_.reset();
  return false;
}

void RankReader::note_kind(const Call& call) {
  const std::uint64_t name = call.region < name_of_region_.size() ? name_of_region_[call.region]
                                                                  : call.region;
  const std::uint64_t size = call.comm < size_of_comm_.size() ? size_of_comm_[call.comm] : 0;
  const std::uint64_t token = combined(name, size);
  hash_ = combined(hash_, token);
  if (!result_.steps.empty() && result_.steps.size() % kKindSteps != 1) return;
  const auto at = std::lower_bound(kinds_.begin(), kinds_.end(), token);
  if (at == kinds_.end() || *at != token) kinds_.insert(at, token);
}

void RankReader::add_facts(const Call& call) {
  const events::Handler handler{
      [&](events::Collective collective) {
        if (collective.comm() < result_.comm_use.size()) ++result_.comm_use[collective.comm()];
      },
      [&](events::PostedReceive receive) {
        if (receive.request() != kNoRequest) posted_[receive.request()] = call.enter_ns;
        if (is_first_message_)
          result_.first_source = world_ranks_.of(receive.comm(), receive.peer());
        is_first_message_ = false;
      },
      [&](events::Send send) { add_send(call, send); },
      [&](events::Receive receive) { add_receive(call, receive); },
      events::Ignores<events::MatchedProbe, events::FoundMessage, events::Completion,
                      events::RequestUse, events::CollectiveCompletion, events::CommChange,
                      events::RmaOperation, events::RmaSync, events::WindowUse,
                      events::FileTransfer, events::FileUse, events::FileCollective, events::Error,
                      events::LocalBytes, events::CallSite, events::Value, events::Left>()};
  for (const Fact& fact : call.facts) events::visit(fact, handler);
  transfers_.end_call(call.facts.size());
}

void RankReader::add_send(const Call& call, events::Send send) {
  if (is_first_message_) result_.first_source = kNoPeer;
  const std::int32_t other = index_of_partner(send);
  if (other < 0) return;
  transfers_.sent({name_of_comm_[send.comm()], index_, static_cast<std::size_t>(other), send.tag(),
                   send.bytes()},
                  call.enter_ns);
}

void RankReader::add_receive(const Call& call, events::Receive receive) {
  if (is_first_message_) result_.first_source = world_ranks_.of(receive.comm(), receive.peer());
  std::uint64_t posted_ns = call.enter_ns;
  if (!receive.is_blocking()) (void)posted_.take(receive.request(), posted_ns);
  const std::int32_t other = index_of_partner(receive);
  if (other < 0) return;
  transfers_.received({name_of_comm_[receive.comm()], static_cast<std::size_t>(other), index_,
                       receive.tag(), receive.bytes()},
                      posted_ns, latest_entry_ns(call), call.leave_ns, result_.steps.size());
}

/// Notes a message. Returns the index of the other end's rank; negative if it has none.
std::int32_t RankReader::index_of_partner(events::Message message) {
  is_first_message_ = false;
  const std::int32_t peer = world_ranks_.of(message.comm(), message.peer());
  if (peer < 0 || static_cast<std::size_t>(peer) >= index_of_.size()) return kNoPeer;
  const std::int32_t index = index_of_[static_cast<std::size_t>(peer)];
  if (index >= 0) result_.has_messages = true;
  return index;
}

void RankReader::end_step(std::uint64_t end_ns) {
  row_.end_ns = end_ns;
  result_.steps.push_back(row_);
  row_ = {};
  is_first_message_ = true;
  if (votes_ == 0) {
    candidate_ = hash_;
    candidate_steps_ = 0;
  }
  votes_ += hash_ == candidate_ ? 1 : -std::uint64_t{1};
  candidate_steps_ += hash_ == candidate_ ? 1 : 0;
  hash_ = 0;
}

RankSteps RankReader::take() {
  result_.sequence = candidate_;
  result_.sequence_share = result_.steps.empty() ? 0.0
                                                 : static_cast<double>(candidate_steps_) /
                                                       static_cast<double>(result_.steps.size());
  for (const std::uint64_t kind : kinds_) result_.vocabulary = combined(result_.vocabulary, kind);
  return std::move(result_);
}

}  // namespace megascope::detect
