#include "settings.h"

#include "checkpoint.h"
#include "refusal.h"
#include "schedule.h"

#include <CLI/CLI.hpp>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <unistd.h>

namespace gpt {

namespace {

constexpr ModelShape kDefaultShape = {
    .layers = 4, .hidden = 128, .heads = 4, .sequence = 64, .rms_norm = 0};
constexpr int kMax = 1 << 24;  // limit for all counts: products of two fit into 64 bits
// Limit for micro-batches and chunks: twice their product is the largest message tag.
constexpr int kMaxTagged = 1 << 12;

void add_model_options(CLI::App& app, ModelShape& model) {
  const CLI::Range count(1, kMax);
  app.add_option("--layers", model.layers, "Transformer layers (4)")
      ->check(CLI::Range(1, kMaxTagged));
  app.add_option("--hidden", model.hidden, "Width of the residual stream (128)")->check(count);
  app.add_option("--heads", model.heads, "Attention heads (4)")->check(count);
  app.add_option("--kv-heads", model.kv_heads, "Heads of keys and values (as many as --heads)")
      ->check(count);
  app.add_option("--ffn", model.ffn, "Width inside the MLP (4 x hidden)")->check(count);
  app.add_option("--sequence", model.sequence, "Bytes of a sequence (64)")->check(count);
  const auto set_norm = [&model](const std::string& name) {
    model.rms_norm = name == "rms" ? 1 : 0;
  };
  app.add_option_function<std::string>("--norm", set_norm, "layer or rms (layer)")
      ->check(CLI::IsMember({"layer", "rms"}));
}

void add_run_options(CLI::App& app, Settings& settings) {
  const CLI::Range count(1, kMax);
  app.add_option("--dp", settings.dp, "Replicas that share the batch")->check(count);
  app.add_option("--tp", settings.tp, "Ranks that share each layer")->check(count);
  app.add_option("--pp", settings.pp, "Pipeline stages")->check(count);
  app.add_option("--schedule", settings.schedule, "Order of a stage's work")
      ->check(CLI::IsMember(schedule_names()));
  app.add_option("--chunks", settings.chunks,
                 "Model chunks a stage, with --schedule interleaved (2)")
      ->check(count);
  app.add_option("--steps", settings.steps, "Steps in all, with those of --load")
      ->check(CLI::Range(0, kMax));
  app.add_option("--batch", settings.batch, "Sequences a step")->check(count);
  app.add_option("--micro-batches", settings.micro_batches, "Pieces of a replica's batch")
      ->check(CLI::Range(1, kMaxTagged));
  app.add_option("--seed", settings.seed, "Of the first weights and of the batches");
  const auto set_dtype = [&settings](const std::string& name) {
    settings.dtype = name == "bf16" ? Dtype::kBf16 : Dtype::kFp32;
  };
  app.add_option_function<std::string>("--dtype", set_dtype, "fp32 or bf16 (fp32)")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--learning-rate", settings.learning_rate, "Adam's")->check(CLI::Range(0.0, 10.0));
  app.add_option("--clip", settings.clip, "Largest norm of the gradients; 0: any")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--data", settings.data, "Text to learn");
  app.add_option("--checkpoint", settings.checkpoint, "File to write after the last step");
  app.add_option("--load", settings.load, "Checkpoint to go on from");
  app.add_flag("--times", settings.has_times, "Print the milliseconds of each step");
  app.add_option("--generate", settings.prompt, "Go on with this text after the last step")
      ->each([&settings](const std::string&) { settings.is_generating = true; });
  app.add_option("--tokens", settings.tokens, "Bytes to generate")->check(CLI::Range(1, kMax));
  app.add_option("--temperature", settings.temperature, "0: always the likeliest byte")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option(
         "--serve", settings.serve_s,
         "Then answer clients of MegaScope's live view until they ask nothing for so many seconds")
      ->check(CLI::Range(0, 86400));
}

ModelShape with_defaults(ModelShape model) {
  for (const ShapeField& field : kShapeFields)
    if (model.*field.value < 0) model.*field.value = kDefaultShape.*field.value;
  if (model.kv_heads < 0) model.kv_heads = model.heads;
  if (model.ffn < 0) model.ffn = 4 * model.hidden;
  return model;
}

/// The checkpoint's shape. Throws Refusal if the command line contradicts it.
ModelShape loaded_shape(const ModelShape& said, const std::string& path) {
  const ModelShape found = read_checkpoint_header(path).model;
  for (const ShapeField& field : kShapeFields)
    if (said.*field.value >= 0 && said.*field.value != found.*field.value)
      throw Refusal(path + ": the checkpoint's " + field.name + " is " +
                    std::to_string(found.*field.value) + ", not " +
                    std::to_string(said.*field.value));
  return found;
}

void must_divide(const char* what, int divisor, const std::string& whole_name, int whole) {
  if (whole % divisor != 0)
    throw Refusal(std::string(what) + " " + std::to_string(divisor) + " does not divide " +
                  whole_name + " (" + std::to_string(whole) + ")");
}

void check_world(const Settings& settings) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (1L * settings.dp * settings.tp > kMax ||
      1L * settings.dp * settings.tp * settings.pp != ranks)
    throw Refusal("--dp " + std::to_string(settings.dp) + " x --tp " + std::to_string(settings.tp) +
                  " x --pp " + std::to_string(settings.pp) + " is not the number of ranks (" +
                  std::to_string(ranks) + ")");
}

/// Checks that message and matrix sizes fit into int, and that weights and micro-batches fit into
/// memory.
void check_size(const Settings& settings) {
  const ModelShape& model = settings.model;
  const double layers = 1.0 * model.layers / settings.pp;
  const double largest = largest_array(model, settings.micro_batch_size());
  const double weights = layers / settings.tp * model.hidden *
                         (4.0 * model.hidden + 2.0 * model.ffn);
  const double memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                              static_cast<double>(sysconf(_SC_PAGESIZE));
  if (largest > kMaxElements || 1.0 * model.ffn * model.hidden > 1e8 ||
      16.0 * (weights + layers * largest) > memory_bytes)
    throw Refusal("a model or micro-batch of this size does not fit into memory");
}

void check_splits(const Settings& settings) {
  const ModelShape& model = settings.model;
  must_divide("--heads", model.heads, "the hidden size", model.hidden);
  must_divide("--kv-heads", model.kv_heads, "the heads", model.heads);
  must_divide("--tp", settings.tp, "the heads", model.heads);
  must_divide("--tp", settings.tp, "the heads of keys and values", model.kv_heads);
  must_divide("--tp", settings.tp, "the width of the MLP", model.ffn);
  must_divide("--tp", settings.tp, "the vocabulary", kVocabulary);
  if (1L * settings.pp * settings.chunks > model.layers ||
      model.layers % (settings.pp * settings.chunks) != 0)
    throw Refusal("--pp " + std::to_string(settings.pp) + " x --chunks " +
                  std::to_string(settings.chunks) + " does not divide the layers (" +
                  std::to_string(model.layers) + ")");
  if (1L * settings.dp * settings.micro_batches > settings.batch ||
      settings.batch % (settings.dp * settings.micro_batches) != 0)
    throw Refusal("--dp " + std::to_string(settings.dp) + " x --micro-batches " +
                  std::to_string(settings.micro_batches) + " does not divide --batch (" +
                  std::to_string(settings.batch) + ")");
  if (settings.schedule == "interleaved")
    must_divide("interleaved: --pp", settings.pp, "--micro-batches", settings.micro_batches);
  check_size(settings);
}

}  // namespace

double largest_array(const ModelShape& model, int sequences) {
  return 1.0 * sequences * model.sequence *
         std::max({1.0 * model.ffn, 3.0 * model.hidden, 1.0 * model.heads * model.sequence});
}

Settings read_settings(int argc, char** argv, std::string& help) {
  Settings settings;
  CLI::App app("A small GPT that trains over MPI: data, tensor and pipeline parallel.",
               "megascope-gpt");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_model_options(app, settings.model);
  app.option_defaults()->always_capture_default();
  add_run_options(app, settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    help = app.help();
    return settings;
  } catch (const CLI::ParseError& error) {
    throw Refusal(error.what());
  }
  const bool is_interleaved = settings.schedule == "interleaved";
  if (app.count("--chunks") == 0 && is_interleaved) settings.chunks = 2;
  if (settings.chunks > 1 && !is_interleaved)
    throw Refusal("--chunks is for --schedule interleaved");
  if (settings.is_generating && settings.prompt.empty())
    throw Refusal("--generate: the prompt is empty");
  if (!std::isfinite(settings.learning_rate + settings.clip + settings.temperature))
    throw Refusal("--learning-rate, --clip and --temperature must be finite");
  check_world(settings);
  settings.model = settings.load.empty() ? with_defaults(settings.model)
                                         : loaded_shape(settings.model, settings.load);
  check_splits(settings);
  return settings;
}

}  // namespace gpt
