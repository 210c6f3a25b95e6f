#include "linear.h"

#include "kernels.h"
#include "matmul.h"

namespace gpt {

Linear::Linear(Bucket& bucket, const std::string& name, int inputs, int outputs, Split split,
               bool has_bias, float deviation, const Axis& tp, Dtype dtype)
    : weight_(bucket.add(name + ".weight", {outputs, inputs}, split == Split::kOutputs ? 0 : 1,
                         0.0F, deviation)),
      split_(split),
      tp_(tp),
      dtype_(dtype) {
  if (has_bias)
    bias_ = &bucket.add(name + ".bias", {outputs},
                        split == Split::kOutputs ? 0 : observe::kNotSplit, 0.0F, 0.0F);
}

void Linear::forward(const float* x, int rows, float* y) const {
  const int outputs = weight_.rows;
  const int inputs = weight_.columns;
  const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(outputs);
  multiply(rows, outputs, inputs, 1.0F, {x, inputs}, {weight_.value, inputs, Side::kTransposed},
           0.0F, y, outputs);
  if (split_ == Split::kInputs) sum_over(tp_, y, count);
  if (bias_ != nullptr) add_bias(y, rows, outputs, bias_->value);
  round_to(dtype_, y, count);
}

void Linear::backward(const float* x, const float* dy, int rows, float* dx) const {
  const int outputs = weight_.rows;
  const int inputs = weight_.columns;
  const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs);
  multiply(rows, inputs, outputs, 1.0F, {dy, outputs}, {weight_.value, inputs}, 0.0F, dx, inputs);
  MPI_Request sum = MPI_REQUEST_NULL;
  if (split_ == Split::kOutputs && tp_.size > 1)
    MPI_Iallreduce(MPI_IN_PLACE, dx, static_cast<int>(count), MPI_FLOAT, MPI_SUM, tp_.comm, &sum);
  multiply(outputs, inputs, rows, 1.0F, {dy, outputs, Side::kTransposed}, {x, inputs}, 1.0F,
           weight_.gradient, inputs);
  if (bias_ != nullptr) bias_gradient_add(dy, rows, outputs, bias_->gradient);
  if (sum != MPI_REQUEST_NULL) MPI_Wait(&sum, MPI_STATUS_IGNORE);
  round_to(dtype_, dx, count);
}

}  // namespace gpt
