#include "matmul.h"

#include <cblas.h>

namespace gpt {

namespace {

CBLAS_TRANSPOSE side_of(const Matrix& matrix) {
  return matrix.side == Side::kTransposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

void multiply(int rows, int columns, int inner, float alpha, Matrix a, Matrix b, float beta,
              float* c, int c_stride) {
  cblas_sgemm(CblasRowMajor, side_of(a), side_of(b), rows, columns, inner, alpha, a.data, a.stride,
              b.data, b.stride, beta, c, c_stride);
}

void set_up_multiply() { openblas_set_num_threads(1); }

}  // namespace gpt
