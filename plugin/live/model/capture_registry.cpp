#include "plugin/live/model/capture_registry.h"

#include "plugin/live/protocol/bounds.h"

#include <algorithm>
#include <cstring>

namespace megascope::live {
namespace {

using capture::CaptureRequest;
using capture::CaptureRequestKind;

/// Whether two requests are equal except for the id.
bool asks_the_same(CaptureRequest a, const CaptureRequest& b) {
  a.id = b.id;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

CaptureRequestKind kind_of(const Subscribe& subscribe) {
  if (subscribe.what == Subject::kCounters) return CaptureRequestKind::kCounters;
  if (subscribe.what == Subject::kStatistics) return CaptureRequestKind::kStatistics;
  return subscribe.is_whole ? CaptureRequestKind::kWhole : CaptureRequestKind::kTile;
}

}  // namespace

std::vector<CaptureRequest> capture_requests_of(const Subscribe& subscribe) {
  if (subscribe.what == Subject::kSteps || subscribe.what == Subject::kCalls) return {};
  CaptureRequest capture_request{.kind = kind_of(subscribe),
                                 .first_layer = subscribe.first_layer,
                                 .last_layer = subscribe.last_layer};
  if (subscribe.kinds.size() == 1)
    capture_request.tensor_kind = static_cast<std::uint8_t>(
        subscribe.kinds[0]);  // the panel filters if there are several
  if (subscribe.what == Subject::kTensor) {
    capture_request.micro_batch = subscribe.micro_batch;
    capture_request.replica = subscribe.replica;
    capture_request.every = subscribe.every;
    capture_request.tiles = subscribe.tiles;
    capture_request.keep = subscribe.keep;
    capture::set_method(capture_request, subscribe.method);
  }
  std::vector<CaptureRequest> capture_requests;
  for (const std::string& name : subscribe.names) {
    if (capture::set_pattern(capture_request, name)) capture_requests.push_back(capture_request);
  }
  return capture_requests;
}

std::map<std::uint32_t, CaptureRegistry::Entry>::iterator CaptureRegistry::find_or_enter(
    const CaptureRequest& capture_request) {
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) {
    return asks_the_same(capture_request, entry.second.capture_request);
  });
  if (found != entries_.end()) return found;
  const auto made = entries_.emplace(next_id_, Entry{.capture_request = capture_request}).first;
  made->second.capture_request.id = next_id_++;
  has_changed_ = true;
  return made;
}

std::optional<std::vector<std::uint32_t>> CaptureRegistry::add(
    const std::vector<CaptureRequest>& capture_requests, From from,
    const std::vector<std::uint32_t>& former) {
  std::vector<std::uint32_t> ids;
  for (const CaptureRequest& capture_request : capture_requests) {
    const auto at = find_or_enter(capture_request);
    ++at->second.wanted;
    if (from == From::kUnauthenticated) ++at->second.wanted_by_unauthenticated;
    ids.push_back(at->first);
  }
  if (is_within_bounds(from, former)) return ids;
  release(ids, from);
  return std::nullopt;
}

/// Checks the limits as if `former` were released.
bool CaptureRegistry::is_within_bounds(From from, const std::vector<std::uint32_t>& former) const {
  std::size_t all = 0;
  std::size_t of_unauthenticated = 0;
  for (const auto& [id, entry] : entries_) {
    const auto given_up = static_cast<std::uint32_t>(std::ranges::count(former, id));
    all += entry.wanted != given_up ? 1 : 0;
    of_unauthenticated += entry.wanted_by_unauthenticated >
                                  (from == From::kUnauthenticated ? given_up : 0)
                              ? 1
                              : 0;
  }
  return all <= capture::kMaxCaptureRequests &&
         (from == From::kClient || of_unauthenticated <= kMaxCompatCaptureRequests);
}

void CaptureRegistry::release(const std::vector<std::uint32_t>& ids, From from) {
  for (const std::uint32_t id : ids) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    if (from == From::kUnauthenticated) --found->second.wanted_by_unauthenticated;
    if (--found->second.wanted != 0) continue;
    entries_.erase(found);
    has_changed_ = true;
  }
}

const CaptureRequest* CaptureRegistry::find(std::uint32_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.capture_request;
}

bool CaptureRegistry::take_changed(std::vector<std::byte>& bytes) {
  if (!has_changed_) return false;
  has_changed_ = false;
  std::vector<CaptureRequest> capture_requests;
  for (const auto& [id, entry] : entries_) capture_requests.push_back(entry.capture_request);
  bytes = capture::pack_capture_requests(capture_requests);
  return true;
}

}  // namespace megascope::live
