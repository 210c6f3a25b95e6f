/// \file
/// The matrix multiplication. All other large loops are in kernels.h.
#pragma once

namespace gpt {

enum class Side { kAsIs, kTransposed };

/// A row-major matrix (not owned); `stride`: elements from one row to the next.
struct Matrix {
  const float* data;
  int stride;
  Side side = Side::kAsIs;
};

/// c = alpha * a * b + beta * c, where a is [rows, inner], b [inner, columns] and c [rows,
/// columns], each after its transposition. c must not overlap a or b. With beta 0, c is not read.
/// One thread. Implemented with OpenBLAS's sgemm.
void multiply(int rows, int columns, int inner, float alpha, Matrix a, Matrix b, float beta,
              float* c, int c_stride);

/// Sets the BLAS library to one thread. Call once at start.
void set_up_multiply();

}  // namespace gpt
