#include "plugin/live/hub/subscription.h"

#include "plugin/capture/tile_method.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/protocol/frames.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace megascope::live {

Subscription::Subscription(Subscribe request, std::vector<std::uint32_t> capture_requests,
                           const Store& store)
    : request_(std::move(request)), capture_requests_(std::move(capture_requests)) {
  const History& history = store.history;
  switch (request_.what) {
    case Subject::kSteps:
      next_entry_ = history.steps.since(request_.since);
      break;
    case Subject::kCalls:  // the latest state, complete
    case Subject::kCounters:
      break;  // views are not ordered by step
    case Subject::kStatistics:
      next_entry_ = history.statistics.since(request_.since);
      break;
    case Subject::kTensor:
      for (const std::uint32_t capture_request : capture_requests_)
        store.cache.for_each(capture_request,
                             [this](const LatestViewCache::Key& key) { waiting_.push_back(key); });
      break;
  }
}

bool Subscription::wants(std::uint32_t capture_request) const {
  return std::ranges::find(capture_requests_, capture_request) != capture_requests_.end();
}

void Subscription::add_credits(std::uint32_t count) {
  credits_ = std::min(kMaxCredits, credits_ + std::min(count, kMaxCredits));
}

std::size_t Subscription::matches(const Store& store) const {
  std::size_t count = 0;
  switch (request_.what) {
    case Subject::kCalls:
    case Subject::kSteps:
      return store.ranks;
    case Subject::kCounters:
      for (std::uint32_t id = 0; id < store.counters.size(); ++id)
        count += store.counters.matches(id, request_) ? 1 : 0;
      return count;
    case Subject::kStatistics:
    case Subject::kTensor:
      for (std::uint32_t id = 0; id < store.tensors.size(); ++id)
        count += store.tensors.matches(id, request_) ? 1 : 0;
      return count;
  }
  return count;
}

void Subscription::lose(std::uint64_t count) {
  dropped_ += count;
  has_loss_ = has_loss_ || count != 0;
}

void Subscription::receive_key(const LatestViewCache::Key& key) {
  const auto found = std::ranges::find(waiting_, key);
  if (found == waiting_.end()) return waiting_.push_back(key);
  lose(1);  // the position in the queue stays the same
}

std::optional<std::vector<std::byte>> Subscription::next(const Store& store,
                                                         std::uint32_t frame_number,
                                                         std::string& problem) {
  if (credits_ == 0) return std::nullopt;
  std::optional<std::vector<std::byte>> frame;
  switch (request_.what) {
    case Subject::kSteps:
      frame = next_steps(store, frame_number);
      break;
    case Subject::kCounters:
      frame = next_counters(store, frame_number);
      break;
    case Subject::kStatistics:
      frame = next_statistics(store, frame_number);
      break;
    case Subject::kCalls:
      frame = next_calls(store, frame_number);
      break;
    case Subject::kTensor:
      frame = next_view(store, frame_number, problem);
      break;
  }
  if (!frame) return frame;
  --credits_;
  has_loss_ = false;
  return frame;
}

std::optional<std::vector<std::byte>> Subscription::next_view(const Store& store,
                                                              std::uint32_t frame_number,
                                                              std::string& problem) {
  while (!waiting_.empty()) {
    const ViewPointer view = store.cache.find(waiting_.front());
    waiting_.pop_front();
    const std::size_t bytes = view ? view->values.size() * (request_.is_half ? 2 : 4) : 0;
    if (view && bytes <= kMaxFrameBytes - kMaxMessageBytes)
      return view_frame(*view, store, frame_number);
    lose(1);
    if (!view || std::exchange(has_complained_, true)) continue;
    problem = "A view of " + std::to_string(bytes) +
              " bytes is too large for a frame; request fewer tiles or f16.";
  }
  return std::nullopt;
}

namespace {

nlohmann::json view_json(const Subscribe& request, const View& view) {
  if (view.tile_width == 0) return {{"type", "whole"}};
  nlohmann::json json{{"type", "tile"},
                      {"tiles", request.tiles},
                      {"method", capture::name_of(request.method)},
                      {"tile_width", view.tile_width}};
  if (request.keep != 0) json["keep"] = request.keep;
  return json;
}

}  // namespace

std::vector<std::byte> Subscription::view_frame(const View& view, const Store& store,
                                                std::uint32_t frame_number) const {
  nlohmann::json metadata{{"panel", request_.subscription},
                          {"step", view.step},
                          {"dropped", dropped_},
                          {"micro_batch", view.micro_batch},
                          {"replica", view.replica},
                          {"ranks", view.ranks},
                          {"missing", view.missing},
                          {"begin_ms", static_cast<double>(view.begin_ns) * 1e-6},
                          {"end_ms", static_cast<double>(view.end_ns) * 1e-6},
                          {"encoding", request_.is_half ? "f16" : "f32"},
                          {"full_shape", view.full_shape},
                          {"shape", view.shape},
                          {"view", view_json(request_, view)}};
  if (const std::optional<std::uint32_t> id = store.tensors.find(view.key)) {
    const capture::TensorName& name = store.tensors[*id].name;
    metadata["tensor"] = *id;
    metadata["name"] = name.name;
    metadata["kind"] = kTensorKindNames[static_cast<std::size_t>(name.kind)];
    metadata["layer"] = name.layer;
    metadata["dtype"] = kElementTypeNames[static_cast<std::size_t>(name.type)];
  }
  const float scale = request_.is_half ? half_scale(view.values) : 1.0F;
  if (request_.is_half) metadata["scale"] = scale;
  const std::string text = metadata.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::size_t bytes = view.values.size() * (request_.is_half ? 2 : 4);
  Frame frame({.kind = FrameKind::kTensor, .has_loss = has_loss_, .number = frame_number}, text,
              rounded_up(bytes));
  if (request_.is_half)
    to_halves(view.values, frame.next_array(bytes), scale);
  else
    frame.add_array(std::span(view.values));
  return frame.take();
}

}  // namespace megascope::live
