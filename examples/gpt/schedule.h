/// \file
/// The order in which a pipeline stage processes its micro-batches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpt {

/// One unit of work of a stage: forward or backward of a micro-batch in one of its chunks. Chunk c
/// of stage s is chunk c * stages + s of the model.
struct Action {
  enum class Kind { kForward, kBackward };
  Kind kind = Kind::kForward;
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const Action&) const = default;
};

/// The work of a stage in one step.
struct StageWork {
  int stage = 0;
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;  // of this stage
};

/// State that a scheduler may query before it decides.
class Inbox {
 public:
  virtual ~Inbox() = default;
  /// Whether the input of the action has arrived, so that it would not block on another stage. Does
  /// not block.
  virtual bool has_input_for(const Action& action) = 0;
};

/// Chooses the next action of a stage. One scheduler is made for each step. It must return every
/// action of the step once, a backward after its forward; the stage blocks if the action's input
/// has not arrived. All tp ranks of a stage must get the same actions, so a scheduler that uses the
/// inbox has to agree with its tp ranks first. Replicas need not agree.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// nullopt: the step is complete.
  virtual std::optional<Action> next(Inbox& inbox) = 0;
};

/// One forward, one backward: the number of micro-batches in flight equals the number of later
/// stages, plus 1.
std::vector<Action> one_forward_one_backward(const StageWork& work);

/// The same with several chunks in a stage: a smaller bubble, but more messages. micro_batches must
/// be a multiple of stages. Narayanan et al., Efficient Large-Scale Language Model Training on GPU
/// Clusters, 2021, 2.2.
std::vector<Action> interleaved(const StageWork& work);

/// The valid names: "1f1b", "interleaved".
std::vector<std::string> schedule_names();
/// `name`: one of schedule_names().
std::unique_ptr<Scheduler> make_scheduler(const std::string& name, const StageWork& work);

}  // namespace gpt
