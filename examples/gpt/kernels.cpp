#include "kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

// Compiled for several vector lengths; the loader selects the longest one that the CPU supports.
// Not possible with sanitizers, which are not initialized at that time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GPT_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GPT_VECTORISED
#endif

namespace gpt {

namespace {

constexpr float kNormEpsilon = 1e-5F;
constexpr float kGeluSlope = 0.7978845608028654F;  // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715F;

/// exp(x) within 2 ulp for -87 <= x <= 88, clamped outside. Branch-free, so that loops over it are
/// vectorized.
inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float
      kRound = 12582912.0F;  // 1.5 * 2^23: adding and subtracting it rounds to an integer
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  const float shifted = x * kLog2E + kRound;
  const float whole = shifted - kRound;
  const float r = (x - whole * kLn2High) - whole * kLn2Low;
  float p = (r * (1.0F / 5040.0F) + 1.0F / 720.0F) * r +
            1.0F / 120.0F;  // Taylor's series: |r| <= ln(2) / 2, so r^8 / 8! < 6e-9
  p = ((p * r + 1.0F / 24.0F) * r + 1.0F / 6.0F) * r + 0.5F;
  p = p * r * r + r + 1.0F;
  // The low bits of `shifted` are the whole number. Converting `whole` would be undefined for a
  // NaN.
  const std::uint32_t power = std::bit_cast<std::uint32_t>(shifted) -
                              std::bit_cast<std::uint32_t>(kRound) + 127U;
  return p * std::bit_cast<float>(power << 23);
}

inline float gelu_sigmoid(float x) {
  const float u = kGeluSlope * (x + kGeluCubic * x * x * x);
  return 1.0F / (1.0F + fast_exp(-2.0F * u));
}

}  // namespace

GPT_VECTORISED void norm(const float* x, int rows, int width, const float* gain, const float* bias,
                         float* y, RowStatistics* statistics) {
  const float share = 1.0F / static_cast<float>(width);
  for (int row = 0; row < rows; ++row, x += width, y += width) {
    float mean = 0;
    if (bias != nullptr) {
#pragma omp simd reduction(+ : mean)
      for (int i = 0; i < width; ++i) mean += x[i];
      mean *= share;
    }
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float inverse = 1.0F / std::sqrt(squares * share + kNormEpsilon);
#pragma omp simd
    for (int i = 0; i < width; ++i) y[i] = (x[i] - mean) * inverse * gain[i];
    if (bias != nullptr) add(bias, static_cast<std::size_t>(width), y);
    statistics[row] = {mean, inverse};
  }
}

GPT_VECTORISED void norm_gradient_add(const float* x, const float* dy, int rows, int width,
                                      const float* gain, const RowStatistics* statistics, float* dx,
                                      float* gain_gradient, float* bias_gradient) {
  const float share = 1.0F / static_cast<float>(width);
  for (int row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
    const float mean = statistics[row].mean;
    const float inverse = statistics[row].inverse_deviation;
    float along_x = 0;
    float along_one = 0;
#pragma omp simd reduction(+ : along_x, along_one)
    for (int i = 0; i < width; ++i) {
      const float normed = (x[i] - mean) * inverse;
      along_x += dy[i] * gain[i] * normed;
      along_one += dy[i] * gain[i];
      gain_gradient[i] += dy[i] * normed;
    }
    along_x *= share;
    along_one = bias_gradient != nullptr ? along_one * share : 0.0F;
#pragma omp simd
    for (int i = 0; i < width; ++i) {
      const float normed = (x[i] - mean) * inverse;
      dx[i] += inverse * (dy[i] * gain[i] - along_one - normed * along_x);
    }
  }
  if (bias_gradient != nullptr)
    bias_gradient_add(dy - static_cast<std::ptrdiff_t>(rows) * width, rows, width, bias_gradient);
}

GPT_VECTORISED void gelu(const float* x, std::size_t count, float* y) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] * gelu_sigmoid(x[i]);
}

GPT_VECTORISED void gelu_gradient(const float* x, std::size_t count, float* gradient) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float sigmoid = gelu_sigmoid(x[i]);
    const float slope = 2.0F * kGeluSlope * (1.0F + 3.0F * kGeluCubic * x[i] * x[i]);
    gradient[i] *= sigmoid + x[i] * sigmoid * (1.0F - sigmoid) * slope;
  }
}

void causal_softmax(float* scores, int length) {
  for (int row = 0; row < length; ++row, scores += length) {
    const float total = exponentials(scores, row + 1, largest(scores, row + 1));
    scale(scores, static_cast<std::size_t>(row + 1), 1.0F / total);
    for (int i = row + 1; i < length; ++i) scores[i] = 0;
  }
}

GPT_VECTORISED void causal_softmax_gradient(const float* probabilities, int length,
                                            float* gradient) {
  for (int row = 0; row < length; ++row, probabilities += length, gradient += length) {
    float mean = 0;
#pragma omp simd reduction(+ : mean)
    for (int i = 0; i <= row; ++i) mean += probabilities[i] * gradient[i];
#pragma omp simd
    for (int i = 0; i <= row; ++i) gradient[i] = probabilities[i] * (gradient[i] - mean);
    for (int i = row + 1; i < length; ++i) gradient[i] = 0;
  }
}

void add_bias(float* x, int rows, int width, const float* bias) {
  for (int row = 0; row < rows; ++row, x += width) add(bias, static_cast<std::size_t>(width), x);
}

void bias_gradient_add(const float* dy, int rows, int width, float* bias_gradient) {
  for (int row = 0; row < rows; ++row, dy += width)
    add(dy, static_cast<std::size_t>(width), bias_gradient);
}

GPT_VECTORISED void add(const float* x, std::size_t count, float* y) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) y[i] += x[i];
}

GPT_VECTORISED void sum(const float* x, const float* y, std::size_t count, float* result) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) result[i] = x[i] + y[i];
}

GPT_VECTORISED void scale(float* x, std::size_t count, float factor) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

GPT_VECTORISED double sum_of_squares(const float* x, std::size_t count) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (std::size_t i = 0; i < count; ++i)
    total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

GPT_VECTORISED float largest(const float* x, int width) {
  float top = x[0];
#pragma omp simd reduction(max : top)
  for (int i = 0; i < width; ++i) top = x[i] > top ? x[i] : top;
  return top;
}

GPT_VECTORISED float exponentials(float* x, int width, float shift) {
#pragma omp simd
  for (int i = 0; i < width; ++i) x[i] = fast_exp(x[i] - shift);
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int i = 0; i < width; ++i) total += x[i];
  return total;
}

GPT_VECTORISED void adam(const AdamStep& step, std::size_t count, const float* gradient,
                         float* value, float* exp_avg, float* exp_avg_sq) {
  const AdamStep s = step;  // a copy, so that it stays in registers
  const float rate = s.learning_rate / s.correction1;
  const float root = 1.0F / std::sqrt(s.correction2);
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient[i] * s.gradient_scale;
    exp_avg[i] = s.beta1 * exp_avg[i] + (1.0F - s.beta1) * g;
    exp_avg_sq[i] = s.beta2 * exp_avg_sq[i] + (1.0F - s.beta2) * g * g;
    value[i] -= rate * exp_avg[i] / (std::sqrt(exp_avg_sq[i]) * root + s.epsilon);
  }
}

GPT_VECTORISED void round_to_bf16(const float* x, std::size_t count, float* y) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[i]);
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U;
    const bool is_finite = (bits & 0x7F800000U) != 0x7F800000U;
    y[i] = std::bit_cast<float>(is_finite ? rounded : bits);
  }
}

std::uint64_t hash(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint64_t x = seed;
  for (const std::uint64_t part : {stream, index}) {
    x += part + 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    x ^= x >> 31;
  }
  return x;
}

float gaussian(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = hash(seed, stream, index);
  const double u = (static_cast<double>(bits >> 32) + 0.5) / 4294967296.0;
  const double v = static_cast<double>(bits & 0xFFFFFFFFU) / 4294967296.0;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v));
}

}  // namespace gpt
