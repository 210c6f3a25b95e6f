/// \file
/// Everything that the user can say.
#pragma once

#include <cstdint>
#include <string>

namespace gpt {

constexpr int kVocabulary = 256;  // a token is a byte

enum class Dtype { kFp32, kBf16 };

/// What makes two models the same model: a checkpoint carries it. -1: not said.
struct ModelShape {
  int layers = -1;
  int hidden = -1;    // width of the residual stream
  int heads = -1;     // of queries
  int kv_heads = -1;  // of keys and values; heads / kv_heads queries share one (grouped-query
                      // attention)
  int ffn = -1;       // width inside the MLP
  int sequence = -1;  // positions that were learned
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
  int chunks = 1;   // pieces of the model a pipeline stage holds; more than one only if interleaved
  int steps = 100;  // in all: a loaded checkpoint's are among them
  int batch = 16;   // sequences a step, over all replicas
  int micro_batches = 4;  // a replica
  std::uint64_t seed = 1;
  Dtype dtype = Dtype::kFp32;
  float learning_rate = 1e-3F;
  float clip = 1.0F;  // largest norm of all gradients together; 0: any
  std::string data = "/usr/share/common-licenses/GPL-3";
  std::string load;        // checkpoint to start from
  std::string checkpoint;  // checkpoint to write at the end
  bool has_times = false;  // print milliseconds of each step
  bool is_generating = false;
  std::string prompt;
  int tokens = 128;       // to generate
  float temperature = 0;  // 0: always the likeliest byte
  int serve_s = 0;        // answers requests until none came for so long; 0: does not
  int micro_batch_size() const { return batch / (dp * micro_batches); }
};

/// Elements of the largest array of a pass of so many sequences: counted in int.
double largest_array(const ModelShape& model, int sequences);
inline constexpr double kMostElements = 2e9;

/// The command line with defaults filled in and every split checked; with --load the model is the
/// checkpoint's. Collective over the world. Throws Refusal. For --help returns the text in `help`
/// and nothing else.
Settings read_settings(int argc, char** argv, std::string& help);

}  // namespace gpt
