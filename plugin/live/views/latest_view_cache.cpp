#include "plugin/live/views/latest_view_cache.h"

#include "plugin/live/protocol/bounds.h"

namespace megascope::live {

void LatestViewCache::remove(std::map<Key, Entry>::iterator at) {
  bytes_ -= bytes_of(*at->second.view);
  by_age_.erase(at->second.number);
  views_.erase(at);
}

void LatestViewCache::put(ViewPointer view) {
  const Key key{view->capture_request, view->key};
  if (const auto found = views_.find(key); found != views_.end()) remove(found);
  bytes_ += bytes_of(*view);
  by_age_.emplace(next_number_, key);
  views_.emplace(key, Entry{std::move(view), next_number_++});
  while (bytes_ > kMaxViewBytes && views_.size() > 1) remove(views_.find(by_age_.begin()->second));
}

ViewPointer LatestViewCache::find(const Key& key) const {
  const auto found = views_.find(key);
  return found == views_.end() ? nullptr : found->second.view;
}

void LatestViewCache::forget(std::uint32_t capture_request) {
  for (auto at = views_.lower_bound({capture_request, 0});
       at != views_.end() && at->first.first == capture_request;)
    remove(at++);
}

}  // namespace megascope::live
