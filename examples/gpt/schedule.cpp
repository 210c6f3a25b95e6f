#include "schedule.h"

#include <algorithm>

namespace gpt {

namespace {

using enum Action::Kind;

/// Returns the actions of a predefined list.
class FixedOrder : public Scheduler {
 public:
  explicit FixedOrder(std::vector<Action> actions) : actions_(std::move(actions)) {}

  std::optional<Action> next(Inbox&) override {
    if (position_ == actions_.size()) return std::nullopt;
    return actions_[position_++];
  }

 private:
  std::vector<Action> actions_;
  std::size_t position_ = 0;
};

/// `ahead` forwards, then alternating forwards and backwards, then the remaining backwards.
template <class Forward, class Backward>
std::vector<Action> in_turns(int count, int ahead, Forward forward, Backward backward) {
  std::vector<Action> actions;
  for (int i = 0; i < ahead; ++i) actions.push_back(forward(i));
  for (int i = 0; i < count; ++i) {
    if (i + ahead < count) actions.push_back(forward(i + ahead));
    actions.push_back(backward(i));
  }
  return actions;
}

/// The i-th action of the interleaved order: `stages` micro-batches in one chunk, the same in the
/// next chunk, and so on.
Action interleaved_action(const StageWork& work, Action::Kind kind, int i) {
  const int round = work.stages * work.chunks;
  const int chunk = i % round / work.stages;
  return {kind, i / round * work.stages + i % work.stages,
          kind == kForward ? chunk : work.chunks - 1 - chunk};
}

}  // namespace

std::vector<Action> one_forward_one_backward(const StageWork& work) {
  return in_turns(
      work.micro_batches, std::min(work.stages - work.stage - 1, work.micro_batches),
      [](int i) {
        return Action{kForward, i, 0};
      },
      [](int i) {
        return Action{kBackward, i, 0};
      });
}

std::vector<Action> interleaved(const StageWork& work) {
  const int count = work.micro_batches * work.chunks;
  const int ahead = 2 * (work.stages - work.stage - 1) + (work.chunks - 1) * work.stages;
  return in_turns(
      count, std::min(ahead, count), [&](int i) { return interleaved_action(work, kForward, i); },
      [&](int i) { return interleaved_action(work, kBackward, i); });
}

std::vector<std::string> schedule_names() { return {"1f1b", "interleaved"}; }

std::unique_ptr<Scheduler> make_scheduler(const std::string& name, const StageWork& work) {
  return std::make_unique<FixedOrder>(name == "interleaved" ? interleaved(work)
                                                            : one_forward_one_backward(work));
}

}  // namespace gpt
