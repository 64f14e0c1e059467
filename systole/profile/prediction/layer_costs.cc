#include "systole/profile/prediction/layer_costs.h"

#include <fmt/core.h>

#include "systole/runtime/tpu_tiles.h"

namespace systole::profile {
namespace {

constexpr double kArraysOfMomentumUpdate = 5;  // momentum: reads three arrays, writes two

}  // namespace

double padded_matrix(int64_t rows, int64_t columns, DType dtype) {
  return static_cast<double>(runtime::padded_bytes({dtype, {rows, columns}}));
}

double padded_vector(int64_t n, DType dtype) {
  return static_cast<double>(runtime::padded_bytes({dtype, {n}}));
}

OpCost product_op(std::string name, int64_t m, int64_t k, int64_t n, double bytes) {
  return {.name = std::move(name),
          .product = hlo::ProductSize{.rows = m, .inner = k, .columns = n},
          .flops = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n),
          .memory_bytes = bytes};
}

double ConvNetCost::activations(int64_t size, int64_t features) const {
  return padded_matrix(images_ * size * size, features, DType::bf16);
}

void ConvNetCost::add_update(const std::string& name, double weights, int64_t count) {
  add_pass(name + ", update of weights", kArraysOfMomentumUpdate * weights);
  step_.all_reduce_bytes += 4.0 * static_cast<double>(count);
  ++step_.all_reduces;
}

void ConvNetCost::add(const ConvolutionSizes& c) {
  const std::string name = fmt::format("convolution {}x{} {} -> {} at {}x{}", c.kernel, c.kernel,
                                       c.in, c.out, c.size, c.size);
  const int64_t positions = images_ * c.size * c.size;
  const int64_t taps = c.kernel * c.kernel;
  const int64_t depth = taps * c.in;
  const double x = activations(c.in_size > 0 ? c.in_size : c.size * c.stride, c.in);
  const double y = activations(c.size, c.out);
  const double weights = padded_matrix(depth, c.out, DType::f32);
  const auto product = [&](const char* what, int64_t m, int64_t k, int64_t n) {
    step_.ops.push_back(product_op(name + what, m, k, n, x + y + weights));
    step_.ops.back().is_convolution = true;
    // Strides leave out positions of the operand: all three products have the same work.
    step_.ops.back().flops = 2.0 * static_cast<double>(positions) * static_cast<double>(depth) *
                             static_cast<double>(c.out);
  };
  product("", positions, depth, c.out);
  product(", gradient of weights", depth, positions, c.out);
  if (c.in > 3) product(", gradient of input", positions, c.out * taps, c.in);
  if (c.is_normalized) {
    add_pass(name + ", normalization and ReLU", 2 * y);
    add_pass(name + ", sums of its gradient", 2 * y);
  } else {
    add_pass(name + ", gradient of bias", y);
  }
  add_pass(name + ", gradient of ReLU", 3 * y);
  add_update(name, weights, depth * c.out);
  step_.resident_bytes += y + 3 * weights;
}

}  // namespace systole::profile
