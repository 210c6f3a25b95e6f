#include "parameters.h"

#include "kernels.h"

namespace gpt {

namespace {

std::uint64_t stream_of(std::string_view name) {  // FNV-1a
  std::uint64_t value = 0xCBF29CE484222325U;
  for (const char c : name) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return value;
}

void fill(const Parameter& parameter, int tp_rank, std::uint64_t seed, float* values) {
  const int first_row = parameter.split_dimension == 0 ? tp_rank * parameter.rows : 0;
  const int first_column = parameter.split_dimension == 1 ? tp_rank * parameter.columns : 0;
  const int whole_columns = parameter.shape.size() > 1 ? parameter.shape[1] : 1;
  const std::uint64_t stream = stream_of(parameter.name);
  for (int row = 0; row < parameter.rows; ++row) {
    for (int column = 0; column < parameter.columns; ++column) {
      const auto index = 1L * (first_row + row) * whole_columns + first_column + column;
      const float noise = parameter.deviation > 0
                              ? gaussian(seed, stream, static_cast<std::uint64_t>(index))
                              : 0.0F;
      *values++ = parameter.mean + parameter.deviation * noise;
    }
  }
}

}  // namespace

Parameter& Bucket::add(std::string name, std::vector<int> shape, int split_dimension, float mean,
                       float deviation) {
  Parameter parameter{.name = std::move(name),
                      .shape = std::move(shape),
                      .split_dimension = split_dimension,
                      .mean = mean,
                      .deviation = deviation,
                      .layer = layer_};
  parameter.rows = parameter.shape[0] / (split_dimension == 0 ? tp_.size : 1);
  parameter.columns = parameter.shape.size() > 1
                          ? parameter.shape[1] / (split_dimension == 1 ? tp_.size : 1)
                          : 1;
  if (!parameters.empty()) parameter.offset = parameters.back().offset + parameters.back().count();
  return parameters.emplace_back(std::move(parameter));
}

void Bucket::allocate(std::uint64_t seed, Dtype dtype) {
  const std::size_t count = parameters.back().offset + parameters.back().count();
  for (Floats* array : {&values, &gradients, &exp_avg, &exp_avg_sq}) array->assign(count, 0.0F);
  if (dtype == Dtype::kBf16) masters_.assign(count, 0.0F);
  for (Parameter& parameter : parameters) {
    parameter.value = values.data() + parameter.offset;
    parameter.gradient = gradients.data() + parameter.offset;
    fill(parameter, tp_.rank, seed, masters().data() + parameter.offset);
  }
  masters_changed();
}

void Bucket::masters_changed() {
  if (!masters_.empty()) round_to_bf16(masters_.data(), masters_.size(), values.data());
}

void Bucket::show(megascope_tensor_kind kind, const Floats& array) const {
  for (const Parameter& parameter : parameters) {
    const auto say = [&](std::initializer_list<std::int64_t> shape) {
      observe::tensor(parameter.name.c_str(), kind, parameter.layer, observe::kNone, shape,
                      parameter.split_dimension, array.data() + parameter.offset);
    };
    parameter.shape.size() > 1 ? say({parameter.rows, parameter.columns}) : say({parameter.rows});
  }
}

}  // namespace gpt
