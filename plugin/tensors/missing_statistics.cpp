#include "plugin/tensors/missing_statistics.h"

namespace megascope::tensors {

void MissingStatistics::note(Reason reason, const std::string& example) {
  const std::lock_guard lock(mutex_);
  Cases& cases = cases_[reason];
  if (cases.count++ == 0) cases.example = example;
}

std::vector<std::string> MissingStatistics::sentences(std::int32_t world_rank) const {
  static constexpr const char* kSentences[kReasonCount] = {
      "ranks were in different steps when they reported statistics",
      "step numbers of a rank did not increase",
      "the sizes of the annotated parallel groups do not multiply to the number of ranks",
      "ranks disagree on the parallel groups, or two ranks have the same coordinates",
      "ranks annotated different numbers of steps",
      "parts of a tensor were not reported",
      "too many tensors for one step exchange",
      "a tensor is split along a group that was not annotated",
      "a tensor was reported with two different splits in one step",
      "a rank stopped reporting statistics"};
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < kReasonCount; ++i) {
    const Cases& cases = cases_[i];
    if (cases.count == 0) continue;
    if (i == kStopped) {
      sentences.push_back("rank " + std::to_string(world_rank) +
                          " stopped reporting statistics over all ranks: " + cases.example);
      continue;
    }
    sentences.push_back("statistics over all ranks are missing " + std::to_string(cases.count) +
                        (cases.count == 1 ? " time: " : " times: ") + kSentences[i] + " (" +
                        (cases.count == 1 ? "" : "first: ") + cases.example + ")");
  }
  return sentences;
}

}  // namespace megascope::tensors
