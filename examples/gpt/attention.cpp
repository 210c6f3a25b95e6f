#include "attention.h"

#include "kernels.h"
#include "matmul.h"

#include <cmath>

namespace gpt {

namespace {

std::size_t product(int a, int b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

}  // namespace

// QKV has no bias. A key bias would have no effect, because softmax is invariant to adding a
// constant to a query's scores.
Attention::Attention(Bucket& bucket, const std::string& name, int layer, const Settings& settings,
                     const Axis& tp)
    : layer_(layer),
      groups_(settings.model.kv_heads / tp.size),
      queries_(settings.model.queries_per_group()),
      size_(settings.model.head_size()),
      scale_(1.0F / std::sqrt(static_cast<float>(size_))),
      dtype_(settings.dtype),
      qkv_(bucket, name + ".qkv", settings.model.hidden,
           (settings.model.heads + 2 * settings.model.kv_heads) * settings.model.head_size(),
           Split::kOutputs,
           /*has_bias=*/false, kDeviation, tp, settings.dtype),
      output_(bucket, name + ".output", settings.model.hidden, settings.model.hidden,
              Split::kInputs,
              /*has_bias=*/true, residual_deviation(settings.model), tp, settings.dtype) {}

void Attention::resize(const Rows& rows, AttentionState& state) const {
  state.qkv.resize(rows.times(qkv_width()));
  state.probabilities.resize(rows.times(heads() * rows.length));
  state.context.resize(rows.times(heads() * size_));
}

Attention::Head Attention::head(const Rows& rows, int sequence, int index) const {
  const int group = index / queries_;
  const std::size_t first = product(sequence * rows.length, qkv_width()) +
                            product(group * (queries_ + 2), size_);
  Head head{};
  head.query = first + product(index % queries_, size_);
  head.key = first + product(queries_, size_);
  head.value = first + product(queries_ + 1, size_);
  head.probabilities = product(sequence * heads() + index, rows.length) *
                       static_cast<std::size_t>(rows.length);
  head.context = product(sequence * rows.length, heads() * size_) + product(index, size_);
  head.is_first_of_group = index % queries_ == 0;
  return head;
}

void Attention::forward(const float* x, const Rows& rows, AttentionState& state, float* y) const {
  const int width = qkv_width();
  const int length = rows.length;
  const float* qkv = state.qkv.data();
  qkv_.forward(x, rows.count(), state.qkv.data());
  for (int sequence = 0; sequence < rows.sequences; ++sequence) {
    for (int index = 0; index < heads(); ++index) {
      const Head head = this->head(rows, sequence, index);
      float* probabilities = state.probabilities.data() + head.probabilities;
      multiply(length, length, size_, scale_, {qkv + head.query, width},
               {qkv + head.key, width, Side::kTransposed}, 0.0F, probabilities, length);
      causal_softmax(probabilities, length);
      round_to(dtype_, probabilities, product(length, length));
      multiply(length, size_, length, 1.0F, {probabilities, length}, {qkv + head.value, width},
               0.0F, state.context.data() + head.context, heads() * size_);
    }
  }
  round_to(dtype_, state.context.data(), rows.times(heads() * size_));
  output_.forward(state.context.data(), rows.count(), y);
  show(state, rows);
}

void Attention::backward(const float* x, const float* dy, const Rows& rows,
                         const AttentionState& state, float* dx) {
  d_qkv_.resize(rows.times(qkv_width()));
  d_context_.resize(rows.times(heads() * size_));
  d_scores_.resize(product(rows.length, rows.length));
  output_.backward(state.context.data(), dy, rows.count(), d_context_.data());
  for (int sequence = 0; sequence < rows.sequences; ++sequence)
    for (int index = 0; index < heads(); ++index)
      head_backward(head(rows, sequence, index), state, rows.length);
  round_to(dtype_, d_qkv_.data(), rows.times(qkv_width()));
  qkv_.backward(x, d_qkv_.data(), rows.count(), dx);
}

void Attention::head_backward(const Head& head, const AttentionState& state, int length) {
  const int width = qkv_width();
  const int context_width = heads() * size_;
  const float* qkv = state.qkv.data();
  const float* probabilities = state.probabilities.data() + head.probabilities;
  const float* d_context = d_context_.data() + head.context;
  const float so_far = head.is_first_of_group
                           ? 0.0F
                           : 1.0F;  // key and value get the gradients of all their queries
  multiply(length, size_, length, 1.0F, {probabilities, length, Side::kTransposed},
           {d_context, context_width}, so_far, d_qkv_.data() + head.value, width);
  multiply(length, length, size_, 1.0F, {d_context, context_width},
           {qkv + head.value, width, Side::kTransposed}, 0.0F, d_scores_.data(), length);
  causal_softmax_gradient(probabilities, length, d_scores_.data());
  multiply(length, size_, length, scale_, {d_scores_.data(), length}, {qkv + head.key, width}, 0.0F,
           d_qkv_.data() + head.query, width);
  multiply(length, size_, length, scale_, {d_scores_.data(), length, Side::kTransposed},
           {qkv + head.query, width}, so_far, d_qkv_.data() + head.key, width);
}

void Attention::show(const AttentionState& state, const Rows& rows) const {
  const auto say = [&](const char* name, std::initializer_list<std::int64_t> shape, int split,
                       const Floats& data) {
    observe::tensor(name, MEGASCOPE_ACTV_OUT, layer_, rows.micro_batch, shape, split, data.data());
  };
  say("qkv", {rows.sequences, rows.length, groups_, queries_ + 2, size_}, 2, state.qkv);
  say("attention.scores", {rows.sequences, heads(), rows.length, rows.length}, 1,
      state.probabilities);
  say("attention.context", {rows.sequences, rows.length, heads(), size_}, 2, state.context);
}

}  // namespace gpt
