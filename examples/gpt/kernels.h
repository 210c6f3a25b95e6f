/// \file
/// The loops of the model with their derivatives. Matrices are [rows, width] float32, row-major,
/// contiguous; `rows` are the tokens of a micro-batch. No allocation. Functions ending in _add add
/// to their result.
#pragma once

#include "settings.h"

#include <cstddef>
#include <cstdint>

namespace gpt {

/// Statistics of a row that norm() keeps for its derivative.
struct RowStatistics {
  float mean;  // 0 for RMS norm
  float inverse_deviation;
};

/// y = (x - mean) / deviation * gain + bias for each row. If `bias` is null, RMS norm: y = x / root
/// mean square * gain.
void norm(const float* x, int rows, int width, const float* gain, const float* bias, float* y,
          RowStatistics* statistics);

/// Adds to dx, gain_gradient and (if not null) bias_gradient.
void norm_gradient_add(const float* x, const float* dy, int rows, int width, const float* gain,
                       const RowStatistics* statistics, float* dx, float* gain_gradient,
                       float* bias_gradient);

/// GELU with the tanh approximation, computed as x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715
/// x^3).
void gelu(const float* x, std::size_t count, float* y);
/// Replaces dy by dx.
void gelu_gradient(const float* x, std::size_t count, float* gradient);

/// Replaces row i of scores [length, length] by the softmax of columns 0..i; later columns become
/// 0.
void causal_softmax(float* scores, int length);
/// Replaces the gradient of the probabilities by that of the scores.
void causal_softmax_gradient(const float* probabilities, int length, float* gradient);

void add_bias(float* x, int rows, int width, const float* bias);
void bias_gradient_add(const float* dy, int rows, int width, float* bias_gradient);

void add(const float* x, std::size_t count, float* y);
/// sum[i] = x[i] + y[i]
void sum(const float* x, const float* y, std::size_t count, float* result);
void scale(float* x, std::size_t count, float factor);
double sum_of_squares(const float* x, std::size_t count);

/// Maximum of a row.
float largest(const float* x, int width);
/// x[i] = exp(x[i] - shift); returns their sum.
float exponentials(float* x, int width, float shift);

/// One step of Adam. `correction1`, `correction2`: 1 - beta1^t and 1 - beta2^t.
struct AdamStep {
  float learning_rate = 0, correction1 = 1, correction2 = 1, gradient_scale = 1;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;
};
void adam(const AdamStep& step, std::size_t count, const float* gradient, float* value,
          float* exp_avg, float* exp_avg_sq);

/// Rounds to bf16, to nearest even; NaN and infinities are preserved.
void round_to_bf16(const float* x, std::size_t count, float* y);

/// Rounds float32 results to dtype in place; no effect for float32.
inline void round_to(Dtype dtype, float* x, std::size_t count) {
  if (dtype == Dtype::kBf16) round_to_bf16(x, count, x);
}

/// Pseudorandom number that depends only on its arguments (splitmix64), so it is the same on every
/// rank.
std::uint64_t hash(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
/// Normally distributed number from the same generator.
float gaussian(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace gpt
