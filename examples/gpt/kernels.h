/// \file
/// The loops of the model, each with its derivative. Matrices are [rows, width] float32, row-major,
/// contiguous; `rows` are the tokens of a micro-batch. Nothing is allocated here. Functions that
/// end in _add add to their result.
#pragma once

#include "settings.h"

#include <cstddef>
#include <cstdint>

namespace gpt {

/// What norm() keeps of a row for its derivative.
struct RowStatistics {
  float mean;  // 0 for RMS norm
  float inverse_deviation;
};

/// y = (x - mean) / deviation * gain + bias, per row; with `bias` null RMS norm: y = x / root mean
/// square * gain.
void norm(const float* x, int rows, int width, const float* gain, const float* bias, float* y,
          RowStatistics* statistics);

/// dx, gain_gradient and (if not null) bias_gradient are added to.
void norm_gradient_add(const float* x, const float* dy, int rows, int width, const float* gain,
                       const RowStatistics* statistics, float* dx, float* gain_gradient,
                       float* bias_gradient);

/// GELU with tanh, as x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
void gelu(const float* x, std::size_t count, float* y);
/// Turns dy into dx in place.
void gelu_gradient(const float* x, std::size_t count, float* gradient);

/// Row i of scores [length, length] becomes the probabilities of columns 0..i; later columns, which
/// are the future, 0.
void causal_softmax(float* scores, int length);
/// Turns the gradient of the probabilities into that of the scores in place.
void causal_softmax_gradient(const float* probabilities, int length, float* gradient);

void add_bias(float* x, int rows, int width, const float* bias);
void bias_gradient_add(const float* dy, int rows, int width, float* bias_gradient);

void add(const float* x, std::size_t count, float* y);
/// sum[i] = x[i] + y[i]
void sum(const float* x, const float* y, std::size_t count, float* result);
void scale(float* x, std::size_t count, float factor);
double sum_of_squares(const float* x, std::size_t count);

/// Largest of a row.
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

/// To the nearest bf16 number, ties to even; NaN and infinities stay what they are.
void round_to_bf16(const float* x, std::size_t count, float* y);

/// What was computed in float32 becomes numbers of dtype, in place: nothing to do for float32.
inline void round_to(Dtype dtype, float* x, std::size_t count) {
  if (dtype == Dtype::kBf16) round_to_bf16(x, count, x);
}

/// A number that looks random and depends on nothing but its arguments (splitmix64): the same on
/// every rank.
std::uint64_t hash(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
/// Normally distributed, from the same source.
float gaussian(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace gpt
