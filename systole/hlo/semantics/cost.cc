#include "systole/hlo/semantics/cost.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <unordered_set>

#include "systole/hlo/semantics/window.h"

namespace systole::hlo {
namespace {

double elements_in(const Shape& shape) {
  return shape.is_static() ? static_cast<double>(shape.num_elements()) : 0;
}

int64_t size_at(const Shape& shape, const Dims& axes) {
  int64_t size = 1;
  for (const int64_t axis : axes) size *= shape[static_cast<int>(axis)];
  return size;
}

// How a window moves along one dimension of an input.
struct WindowMoves {
  int64_t input = 0;
  int64_t output = 0;
  int64_t kernel = 0;
  int64_t stride = 1;
  int64_t low = 0;  // padding
  int64_t input_dilation = 1;
  int64_t kernel_dilation = 1;
};

// Returns the number of outputs for which the element at `start` + output * stride is one of the
// input.
int64_t outputs_inside(const WindowMoves& w, int64_t start) {
  const auto ceil_div = [](int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; };
  const int64_t last = (w.input - 1) * w.input_dilation - start;
  if (w.input == 0 || last < 0) return 0;
  int64_t first = ceil_div(-start, w.stride);
  const int64_t end = std::min(last / w.stride + 1, w.output);
  // Every `period`-th output meets an element rather than a hole, if any does.
  const int64_t period = w.input_dilation / std::gcd(w.input_dilation, w.stride);
  for (int64_t i = 0; i < period && first < end; ++i, ++first) {
    if ((start + first * w.stride) % w.input_dilation == 0) return (end - first - 1) / period + 1;
  }
  return 0;
}

int64_t pairs_along(const WindowMoves& w) {
  int64_t pairs = 0;
  for (int64_t k = 0; k < w.kernel; ++k) pairs += outputs_inside(w, k * w.kernel_dilation - w.low);
  return pairs;
}

int64_t dim_or_1(const Dims& dims, size_t i) { return dims.empty() ? 1 : dims[i]; }

double convolution_flops(const Instruction& x) {
  const auto& attrs = x.attrs<ConvolutionAttrs>();
  const Shape& input = x.operand(0).shape();
  const Shape& kernel = x.operand(1).shape();
  double flops =
      2.0 * static_cast<double>(x.shape()[static_cast<int>(attrs.output_batch_dimension)] *
                                x.shape()[static_cast<int>(attrs.output_feature_dimension)] *
                                kernel[static_cast<int>(attrs.kernel_input_feature_dimension)]);
  for (size_t d = 0; d < attrs.input_spatial_dimensions.size(); ++d) {
    flops *= static_cast<double>(
        pairs_along({.input = input[static_cast<int>(attrs.input_spatial_dimensions[d])],
                     .output = x.shape()[static_cast<int>(attrs.output_spatial_dimensions[d])],
                     .kernel = kernel[static_cast<int>(attrs.kernel_spatial_dimensions[d])],
                     .stride = dim_or_1(attrs.window_strides, d),
                     .low = attrs.padding.empty() ? 0 : attrs.padding[d].first,
                     .input_dilation = dim_or_1(attrs.lhs_dilation, d),
                     .kernel_dilation = dim_or_1(attrs.rhs_dilation, d)}));
  }
  return flops;
}

double dot_flops(const Instruction& x) {
  const ProductSize p = *product_size(x);
  return 2.0 * static_cast<double>(p.count * p.rows) * static_cast<double>(p.inner * p.columns);
}

void add_region_calls(const Computation& region, double calls, Cost& cost) {
  const Cost one = cost_of(region);
  cost.flops += std::max(calls, 0.0) * one.flops;
  cost.transcendentals += std::max(calls, 0.0) * one.transcendentals;
}

double window_elements(const WindowAttrs& window) {
  double size = 1;
  for (const int64_t d : window.window_dimensions) size *= static_cast<double>(d);
  return size;
}

// A number that a kernel states of its work in its settings, JSON as an MLIR string: Pallas writes
// {"cost_estimate": {"flops": 12, ...}}. 0 if there is none.
double stated(std::string_view settings, std::string_view name) {
  const size_t estimate = settings.find("cost_estimate");
  if (estimate == std::string_view::npos) return 0;
  const size_t key = settings.find(name, estimate);
  size_t at = key == std::string_view::npos ? key : settings.find(':', key);
  if (at == std::string_view::npos) return 0;
  at = settings.find_first_not_of(' ', at + 1);
  double value = 0;
  if (at == std::string_view::npos) return 0;
  std::from_chars(settings.data() + at, settings.data() + settings.size(), value);
  return std::max(value, 0.0);
}

bool is_control_flow(const Instruction& x) {
  return x.is(Opcode::while_) || x.is(Opcode::if_) || x.is(Opcode::case_);
}

void add_operations(const Instruction& x, Cost& cost) {
  switch (x.opcode()) {
    case Opcode::dot_general:
      cost.product_flops = dot_flops(x);
      cost.flops += cost.product_flops;
      return;
    case Opcode::convolution:
      cost.product_flops = convolution_flops(x);
      cost.flops += cost.product_flops;
      return;
    case Opcode::custom_call: {
      const std::string_view settings = x.attrs<CustomCallAttrs>().settings();
      cost.product_flops = stated(settings, "flops");
      cost.flops += cost.product_flops;
      cost.transcendentals += stated(settings, "transcendentals");
      return;
    }
    case Opcode::reduce:
      return add_region_calls(x.region(),
                              elements_in(x.operand(0).shape()) - elements_in(x.shape()), cost);
    case Opcode::reduce_window:
      if (running_window(x)) return add_region_calls(x.region(), elements_in(x.shape()), cost);
      return add_region_calls(
          x.region(), elements_in(x.shape()) * (window_elements(x.attrs<WindowAttrs>()) - 1), cost);
    case Opcode::select_and_scatter:
      add_region_calls(
          x.region(0),
          elements_in(x.operand(1).shape()) * (window_elements(x.attrs<WindowAttrs>()) - 1), cost);
      return add_region_calls(x.region(1), elements_in(x.operand(1).shape()), cost);
    case Opcode::scatter:
      return add_region_calls(x.region(), elements_in(x.operand(x.num_operands() - 1).shape()),
                              cost);
    case Opcode::map:
      return add_region_calls(x.region(), elements_in(x.shape()), cost);
    case Opcode::sort: {
      const auto size = static_cast<uint64_t>(elements_in(x.operand(0).shape()));
      return add_region_calls(
          x.region(), static_cast<double>(size) * (size < 2 ? 0 : std::bit_width(size - 1)), cost);
    }
    default:
      break;
  }
  if (x.is(Opcode::fusion) || is_control_flow(x)) {
    for (const auto& region : x.regions()) {
      const Cost inside = cost_of(*region);
      cost.flops += inside.flops;
      cost.product_flops += inside.product_flops;
      cost.transcendentals += inside.transcendentals;
    }
  } else if (x.traits().has(kElementwise) && x.num_results() > 0) {
    (x.traits().has(kTranscendental) ? cost.transcendentals : cost.flops) += elements_in(x.shape());
  }
}

bool is_free(const Instruction& x) {
  return x.is(Opcode::parameter) || x.is(Opcode::constant) || x.is(Opcode::return_) ||
         x.is(Opcode::optimization_barrier) || x.traits().has(kBitcast);
}

void add_bytes(const Instruction& x, BytesOf bytes_of, Cost& cost) {
  if (is_free(x) || is_control_flow(x)) return;
  for (const TensorType& type : x.results()) cost.bytes_out += bytes_of(type);
  if (x.is(Opcode::dynamic_slice) || x.is(Opcode::gather) || x.is(Opcode::slice)) {
    cost.bytes_in = cost.bytes_out;
    return;
  }
  if (x.is(Opcode::dynamic_update_slice)) {
    cost.bytes_in = cost.bytes_out = bytes_of(x.operand(1).type());
    return;
  }
  std::unordered_set<Value, ValueHash> seen;
  for (const Value& operand : x.operands()) {
    if (seen.insert(operand).second) cost.bytes_in += bytes_of(operand.type());
  }
}

}  // namespace

double array_bytes(const TensorType& type) {
  return type.is_static() ? static_cast<double>(type.byte_size()) : 0;
}

Cost cost_of(const Instruction& x, BytesOf bytes_of) {
  Cost cost;
  add_operations(x, cost);
  add_bytes(x, bytes_of, cost);
  return cost;
}

Cost cost_of(const Computation& computation) {
  Cost total;
  for (const Instruction* x : computation.instructions()) {
    const Cost cost = cost_of(*x);
    total.flops += cost.flops;
    total.product_flops += cost.product_flops;
    total.transcendentals += cost.transcendentals;
    total.bytes_in += cost.bytes_in;
    total.bytes_out += cost.bytes_out;
  }
  return total;
}

std::optional<ProductSize> product_size(const Instruction& x) {
  if (x.is(Opcode::dot_general)) {
    const auto& attrs = x.attrs<DotAttrs>();
    const Shape& lhs = x.operand(0).shape();
    const Shape& rhs = x.operand(1).shape();
    const int64_t count = size_at(lhs, attrs.lhs_batching_dimensions);
    const int64_t inner = size_at(lhs, attrs.lhs_contracting_dimensions);
    if (count * inner == 0) return ProductSize{};
    return ProductSize{.count = count,
                       .rows = lhs.num_elements() / (count * inner),
                       .inner = inner,
                       .columns = rhs.num_elements() / (count * inner)};
  }
  if (!x.is(Opcode::convolution)) return std::nullopt;
  const auto& attrs = x.attrs<ConvolutionAttrs>();
  const Shape& kernel = x.operand(1).shape();
  const int64_t features = kernel[static_cast<int>(attrs.kernel_output_feature_dimension)];
  const int64_t groups = std::max(attrs.feature_group_count, attrs.batch_group_count);
  if (features == 0) return ProductSize{};
  ProductSize size{.count = groups,
                   .rows = x.shape().num_elements() / features,
                   .inner = kernel.num_elements() / features,
                   .columns = features / groups};
  for (const int64_t d : attrs.lhs_dilation) size.dilation *= d;
  return size;
}

}  // namespace systole::hlo
