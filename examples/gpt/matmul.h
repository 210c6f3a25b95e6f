/// \file
/// The one matrix multiplication. Everything else that is as large as a model is a loop in
/// kernels.h.
#pragma once

namespace gpt {

enum class Side { kAsIs, kTransposed };

/// A matrix in someone's memory, row-major; `stride` elements from one row to the next.
struct Matrix {
  const float* data;
  int stride;
  Side side = Side::kAsIs;
};

/// c = alpha * a * b + beta * c, where a is [rows, inner], b is [inner, columns] and c is [rows,
/// columns], each after its transposition. c must not overlap a or b; with beta 0 it is only
/// written. One thread. Today OpenBLAS's sgemm; a cuBLAS twin would be a second matmul_*.cpp.
void multiply(int rows, int columns, int inner, float alpha, Matrix a, Matrix b, float beta,
              float* c, int c_stride);

/// Tells the library behind multiply() that a rank is one thread. Once, at the start.
void set_up_multiply();

}  // namespace gpt
