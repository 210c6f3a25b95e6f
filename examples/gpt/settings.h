/// \file
/// Command-line settings.
#pragma once

#include <cstdint>
#include <string>

namespace gpt {

constexpr int kVocabulary = 256;  // a token is a byte

enum class Dtype { kFp32, kBf16 };

/// The shape of a model, stored in checkpoints. -1: not specified.
struct ModelShape {
  int layers = -1;
  int hidden = -1;  // width of the residual stream
  int heads = -1;   // of queries
  // Of keys and values; shared by heads / kv_heads queries each (grouped-query attention)
  int kv_heads = -1;
  int ffn = -1;       // width inside the MLP
  int sequence = -1;  // number of learned positions
  int rms_norm = -1;  // 1: RMS norm, 0: layer norm
  int head_size() const { return hidden / heads; }
  int queries_per_group() const { return heads / kv_heads; }
};

struct ShapeField {
  const char* name;
  int ModelShape::*value;
};
inline constexpr ShapeField kShapeFields[] = {
    {"layers", &ModelShape::layers},    {"hidden", &ModelShape::hidden},
    {"heads", &ModelShape::heads},      {"kv_heads", &ModelShape::kv_heads},
    {"ffn", &ModelShape::ffn},          {"sequence", &ModelShape::sequence},
    {"rms_norm", &ModelShape::rms_norm}};

struct Settings {
  ModelShape model;
  int dp = 1;
  int tp = 1;
  int pp = 1;
  std::string schedule = "1f1b";
  // Model chunks in a pipeline stage; more than one only with --schedule interleaved.
  int chunks = 1;
  int steps = 100;        // total, including those of a loaded checkpoint
  int batch = 16;         // sequences in a step, over all replicas
  int micro_batches = 4;  // for each replica
  std::uint64_t seed = 1;
  Dtype dtype = Dtype::kFp32;
  float learning_rate = 1e-3F;
  float clip = 1.0F;  // maximum norm of all gradients; 0: unlimited
  std::string data = "/usr/share/common-licenses/GPL-3";
  std::string load;        // checkpoint to start from
  std::string checkpoint;  // checkpoint to write at the end
  bool has_times = false;  // print milliseconds of each step
  bool is_generating = false;
  std::string prompt;
  int tokens = 128;       // to generate
  float temperature = 0;  // 0: always the most likely byte
  int serve_s = 0;        // serve requests until none came for this many seconds; 0: do not serve
  int micro_batch_size() const { return batch / (dp * micro_batches); }
};

/// Elements of the largest array for this many sequences; array sizes are of type int.
double largest_array(const ModelShape& model, int sequences);
inline constexpr double kMaxElements = 2e9;

/// Parses the command line, fills in defaults and checks all sizes. With --load the model is that
/// of the checkpoint. Collective over the world. Throws Refusal. For --help sets `help` and does
/// nothing else.
Settings read_settings(int argc, char** argv, std::string& help);

}  // namespace gpt
