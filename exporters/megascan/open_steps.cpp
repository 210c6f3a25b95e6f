#include "exporters/megascan/open_steps.h"

#include "core/record/event_view.h"

namespace megascope::megascan {

std::int32_t step_of(const Call& call) {
  for (const Fact& fact : call.facts) {
    const auto value = events::as<events::Value>(fact);
    if (!value || value->name() != ValueName::kStep) continue;
    const std::int64_t step = value->number();
    return step >= 0 && step <= INT32_MAX ? static_cast<std::int32_t>(step) : kNoStep;
  }
  return kNoStep;
}

std::int32_t OpenSteps::follow(const timeline::Event& event) {
  if (event.kind == timeline::Event::Kind::kPoint) return kNoStep;
  std::vector<Open>& open = open_[event.location];
  const bool is_enter = event.kind == timeline::Event::Kind::kEnter;
  while (!open.empty() && open.back().frame >= event.frame) {
    open.pop_back();
    latest_ = open.empty() ? kNoStep : open.back().step;
  }
  if (!is_enter) return kNoStep;
  const std::int32_t reported = step_of(*event.call);
  if (reported == kNoStep) return open.empty() ? latest_ : open.back().step;
  open.push_back({event.frame, reported});
  latest_ = reported;
  return reported;
}

}  // namespace megascope::megascan
