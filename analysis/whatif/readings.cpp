#include "analysis/whatif/readings.h"

#include <algorithm>
#include <numeric>

namespace megascope::whatif {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double ratio(double time_ns, double other_ns) {
  return time_ns > 0 && other_ns > 0 ? time_ns / other_ns : 1.0;
}

namespace {

using Time = Variant::Time;

SubjectBits bit(std::size_t subject) { return SubjectBits{1} << subject; }

/// Subjects, the variants that are replayed together for them, and the step times of these.
class Batch {
 public:
  /// subjects: at most kMaxSubjects. Both outlive the object.
  Batch(const Player& player, std::span<Subject> subjects)
      : player_(player), subjects_(subjects), numbers_(subjects.size()) {}

  /// Returns the number of the variant.
  std::size_t add(const Variant& variant) {
    variants_.push_back(variant);
    return variants_.size() - 1;
  }
  /// Variants of one kind are contiguous, so that most replays contain only one kind (faster).
  void add_gains() {
    for (std::size_t i = 0; i < subjects_.size(); ++i)
      numbers_[i].gain = add({bit(i), Time::kWithoutSlowness, Time::kItWas});
  }
  void add_alone() {
    for (std::size_t i = 0; i < subjects_.size(); ++i)
      numbers_[i].alone = add({bit(i), Time::kItWas, Time::kWithoutSlowness});
    for (std::size_t i = 0; i < subjects_.size(); ++i)
      numbers_[i].alone_at_mean = add({bit(i), Time::kItWas, Time::kUsual});
  }
  void replay() { steps_ns_ = player_.step_times_ns(variants_, player_.meant(subjects_)); }

  const std::vector<double>& steps_ns(std::size_t variant) const { return steps_ns_[variant]; }
  double mean_ns(std::size_t variant) const { return mean(steps_ns_[variant]); }
  void set_gains(double step_ns) {
    for (std::size_t i = 0; i < subjects_.size(); ++i)
      subjects_[i].scenario.gain = ratio(step_ns, mean_ns(numbers_[i].gain));
  }
  void set_alone(double ideal_step_ns, double best_step_ns) {
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      Scenario& scenario = subjects_[i].scenario;
      scenario.alone = ratio(mean_ns(numbers_[i].alone), best_step_ns);
      scenario.alone_at_mean = ratio(mean_ns(numbers_[i].alone_at_mean), ideal_step_ns);
    }
  }

 private:
  struct Numbers {
    std::size_t gain = 0;
    std::size_t alone = 0;
    std::size_t alone_at_mean = 0;
  };

  const Player& player_;
  std::span<Subject> subjects_;
  std::vector<Numbers> numbers_;
  std::vector<Variant> variants_;
  std::vector<std::vector<double>> steps_ns_;
};

}  // namespace

void Readings::read_asked(std::span<Subject> subjects) {
  constexpr std::size_t
      kMaxLeftIn = 8;  // for more subjects, the cost of each without the others is not computed
  const std::span<Subject> some = subjects.first(std::min(subjects.size(), kMaxSubjects));
  Batch batch(player_, some);
  const std::size_t was = batch.add({.others = Time::kItWas});
  const std::size_t best = batch.add({.others = Time::kWithoutSlowness});
  const std::size_t ideal = has_costs_only_ ? was : batch.add({.others = Time::kUsual});
  batch.add_gains();
  if (!has_costs_only_) batch.add_alone();
  const SubjectBits all = some.size() == kMaxSubjects ? ~SubjectBits{0} : bit(some.size()) - 1;
  const std::size_t none = batch.add({all, Time::kWithoutSlowness, Time::kItWas});
  std::vector<std::size_t> left_in;
  for (std::size_t i = 0; i < some.size() && some.size() > 1 && subjects.size() <= kMaxLeftIn; ++i)
    left_in.push_back(batch.add({all & ~bit(i), Time::kWithoutSlowness, Time::kItWas}));
  batch.replay();
  steps_ns_ = batch.steps_ns(was);
  ideal_steps_ns_ = batch.steps_ns(ideal);
  step_ns_ = mean(steps_ns_);
  // With much scatter, typical durations can give a longer mean.
  ideal_step_ns_ = std::min(step_ns_, mean(ideal_steps_ns_));
  best_step_ns_ = batch.mean_ns(best);
  batch.set_gains(step_ns_);
  if (!has_costs_only_) batch.set_alone(ideal_step_ns_, best_step_ns_);
  for (const std::size_t number : left_in) without_others_ns_.push_back(batch.mean_ns(number));
  read(subjects.subspan(some.size()));
  without_asked_ns_ = subjects.size() <= kMaxSubjects ? batch.mean_ns(none) : without_ns(subjects);
}

void Readings::read(std::span<Subject> subjects) {
  for (std::size_t first = 0; first < subjects.size(); first += kMaxSubjects) {
    Batch batch(player_, subjects.subspan(first, std::min(kMaxSubjects, subjects.size() - first)));
    batch.add_gains();
    if (!has_costs_only_) batch.add_alone();
    batch.replay();
    batch.set_gains(step_ns_);
    if (!has_costs_only_) batch.set_alone(ideal_step_ns_, best_step_ns_);
  }
}

/// Returns the mean step time without the slowness of any number of subjects.
double Readings::without_ns(std::span<const Subject> subjects) const {
  std::vector<SubjectBits> any;
  for (std::size_t first = 0; first < subjects.size(); first += kMaxSubjects) {
    const auto some = subjects.subspan(first, std::min(kMaxSubjects, subjects.size() - first));
    const std::vector<SubjectBits> meant = player_.meant(some);
    any.resize(meant.size());
    for (std::size_t i = 0; i < meant.size(); ++i) any[i] |= meant[i] != 0 ? bit(0) : 0;
  }
  const Variant variant{bit(0), Time::kWithoutSlowness, Time::kItWas};
  return mean(player_.step_times_ns({&variant, 1}, any).front());
}

}  // namespace megascope::whatif
