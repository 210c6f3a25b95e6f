#include "layer.h"

namespace gpt {

namespace {

std::string name_of(int number) { return "layers." + std::to_string(number); }

}  // namespace

Layer::Layer(Bucket& bucket, int number, const Settings& settings, const Axis& tp)
    : number_(number),
      hidden_(settings.model.hidden),
      ffn_(settings.model.ffn / tp.size),
      dtype_(settings.dtype),
      norm1_(bucket, name_of(number) + ".norm1", hidden_, settings.model.rms_norm == 1, dtype_),
      attention_(bucket, name_of(number) + ".attention", number, settings, tp),
      norm2_(bucket, name_of(number) + ".norm2", hidden_, settings.model.rms_norm == 1, dtype_),
      mlp1_(bucket, name_of(number) + ".mlp1", hidden_, settings.model.ffn, Split::kOutputs,
            /*has_bias=*/true, kDeviation, tp, dtype_),
      mlp2_(bucket, name_of(number) + ".mlp2", settings.model.ffn, hidden_, Split::kInputs,
            /*has_bias=*/true, residual_deviation(settings.model), tp, dtype_) {}

void Layer::resize(const Rows& rows, LayerState& state) const {
  state.statistics1.resize(rows.times(1));
  state.statistics2.resize(rows.times(1));
  for (Floats* array : {&state.normed1, &state.middle, &state.normed2})
    array->resize(rows.times(hidden_));
  for (Floats* array : {&state.mlp1, &state.active}) array->resize(rows.times(ffn_));
  attention_.resize(rows, state.attention);
}

void Layer::forward(const Floats& input, const Rows& rows, LayerState& state, Scratch& scratch,
                    Floats& output) const {
  const observe::Region region(observe::kLayer,
                               observe::Where().of_micro_batch(rows.micro_batch).of_layer(number_));
  const std::size_t count = rows.times(hidden_);
  scratch.hidden.resize(count);
  norm1_.forward(input, rows.count(), state.normed1, state.statistics1);
  attention_.forward(state.normed1.data(), rows, state.attention, scratch.hidden.data());
  show("attention.output", MEGASCOPE_ACTV_OUT, rows, hidden_, false, scratch.hidden);
  sum(input.data(), scratch.hidden.data(), count, state.middle.data());
  round_to(dtype_, state.middle.data(), count);

  norm2_.forward(state.middle, rows.count(), state.normed2, state.statistics2);
  mlp1_.forward(state.normed2.data(), rows.count(), state.mlp1.data());
  show("mlp1", MEGASCOPE_ACTV_OUT, rows, ffn_, true, state.mlp1);
  gelu(state.mlp1.data(), rows.times(ffn_), state.active.data());
  round_to(dtype_, state.active.data(), rows.times(ffn_));
  mlp2_.forward(state.active.data(), rows.count(), scratch.hidden.data());
  show("mlp2", MEGASCOPE_ACTV_OUT, rows, hidden_, false, scratch.hidden);
  sum(state.middle.data(), scratch.hidden.data(), count, output.data());
  round_to(dtype_, output.data(), count);
  show("hidden", MEGASCOPE_ACTV_OUT, rows, hidden_, false, output);
}

void Layer::backward(const Floats& input, const Rows& rows, const LayerState& state,
                     Scratch& scratch, Floats& gradient) {
  const observe::Region region(observe::kLayer,
                               observe::Where().of_micro_batch(rows.micro_batch).of_layer(number_));
  scratch.hidden.resize(rows.times(hidden_));
  scratch.ffn.resize(rows.times(ffn_));
  show("hidden", MEGASCOPE_ACTV_GRAD_OUT, rows, hidden_, false, gradient);
  mlp2_.backward(state.active.data(), gradient.data(), rows.count(), scratch.ffn.data());
  gelu_gradient(state.mlp1.data(), rows.times(ffn_), scratch.ffn.data());
  round_to(dtype_, scratch.ffn.data(), rows.times(ffn_));
  mlp1_.backward(state.normed2.data(), scratch.ffn.data(), rows.count(), scratch.hidden.data());
  norm2_.backward(state.middle, scratch.hidden, rows.count(), state.statistics2, gradient.data());

  attention_.backward(state.normed1.data(), gradient.data(), rows, state.attention,
                      scratch.hidden.data());
  norm1_.backward(input, scratch.hidden, rows.count(), state.statistics1, gradient.data());
  show("hidden", MEGASCOPE_ACTV_GRAD_IN, rows, hidden_, false, gradient);
}

void Layer::show(const char* name, megascope_tensor_kind kind, const Rows& rows, int width,
                 bool is_split, const Floats& data) const {
  observe::tensor(name, kind, number_, rows.micro_batch, {rows.sequences, rows.length, width},
                  is_split ? 2 : observe::kNotSplit, data.data());
}

}  // namespace gpt
