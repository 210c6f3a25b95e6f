/// \file
/// In which order a pipeline stage works on its micro-batches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpt {

/// One piece of work of a stage: a micro-batch through one of its chunks, forth or back. Chunk c of
/// stage s is chunk c * stages + s of the model.
struct Action {
  enum class Kind { kForward, kBackward };
  Kind kind = Kind::kForward;
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const Action&) const = default;
};

/// A stage's part in a step.
struct StageWork {
  int stage = 0;
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;  // of this stage
};

/// What a scheduler may look at before it decides.
class Inbox {
 public:
  virtual ~Inbox() = default;
  /// What the action starts from is here: it would not have to wait for another stage. Does not
  /// block.
  virtual bool has_input_for(const Action& action) = 0;
};

/// Says what a stage does next. One is made for each step. Every action of the step has to come
/// once, a backward after its own forward; an action whose input is not here yet is waited for. All
/// tp ranks of a stage must be told the same: a scheduler that looks into the inbox has to agree
/// with its neighbours first. Replicas need not agree.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Nothing: the step is done.
  virtual std::optional<Action> next(Inbox& inbox) = 0;
};

/// One forward, one backward: as many micro-batches in flight as there are stages behind this one.
std::vector<Action> one_forward_one_backward(const StageWork& work);

/// The same with several chunks a stage, which makes the bubble smaller and the messages more.
/// micro_batches must be a multiple of stages. Narayanan et al., Efficient Large-Scale Language
/// Model Training on GPU Clusters, 2021, 2.2.
std::vector<Action> interleaved(const StageWork& work);

/// "1f1b", "interleaved".
std::vector<std::string> schedule_names();
/// `name`: one of schedule_names().
std::unique_ptr<Scheduler> make_scheduler(const std::string& name, const StageWork& work);

}  // namespace gpt
