/// \file
/// Layer norm or RMS norm. Replicated on all tp ranks.
#pragma once

#include "kernels.h"
#include "parameters.h"

namespace gpt {

class Norm {
 public:
  Norm(Bucket& bucket, const std::string& name, int width, bool is_rms, Dtype dtype)
      : width_(width),
        dtype_(dtype),
        gain_(bucket.add(name + ".weight", {width}, observe::kNotSplit, 1.0F, 0.0F)) {
    if (!is_rms) bias_ = &bucket.add(name + ".bias", {width}, observe::kNotSplit, 0.0F, 0.0F);
  }
  /// x, y: [rows, width]; statistics: one entry for each row, for backward.
  void forward(const Floats& x, int rows, Floats& y, std::vector<RowStatistics>& statistics) const {
    norm(x.data(), rows, width_, gain_.value, bias_ != nullptr ? bias_->value : nullptr, y.data(),
         statistics.data());
    round_to(dtype_, y.data(), static_cast<std::size_t>(rows) * static_cast<std::size_t>(width_));
  }
  /// Adds to dx, because x is also the input of the residual connection.
  void backward(const Floats& x, const Floats& dy, int rows,
                const std::vector<RowStatistics>& statistics, float* dx) const {
    norm_gradient_add(x.data(), dy.data(), rows, width_, gain_.value, statistics.data(), dx,
                      gain_.gradient, bias_ != nullptr ? bias_->gradient : nullptr);
    round_to(dtype_, dx, static_cast<std::size_t>(rows) * static_cast<std::size_t>(width_));
  }

 private:
  int width_;
  Dtype dtype_;
  Parameter& gain_;
  Parameter* bias_ = nullptr;
};

}  // namespace gpt
