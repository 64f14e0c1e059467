#include "systole/graph/ops/quantization/fake_quant.h"

#include "systole/base/error.h"

namespace systole {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;

void check_fake_quant_attrs(const InferContext& c, FakeQuantKind kind) {
  const int64_t bits = c.attr<int64_t>("num_bits");
  if (bits < 2 || bits > 16) {
    throw invalid_argument("num_bits, got {}, expected in [2, 16]", bits);
  }
  if (kind != FakeQuantKind::args) return;
  const double least = c.attr<double>("min");
  const double greatest = c.attr<double>("max");
  if (!(least < greatest)) {
    throw invalid_argument("min and max, got {} and {}, expected min < max", least, greatest);
  }
}

// The range inputs, which follow `first`.
void check_fake_quant_range(const InferContext& c, FakeQuantKind kind, int first) {
  if (kind == FakeQuantKind::args) return;
  const Shape& inputs = c.input(first - 1).shape;
  const bool channels = kind == FakeQuantKind::per_channel;
  if (channels && inputs.rank() == 0) {
    throw invalid_argument("inputs, got a scalar, expected a dimension of channels");
  }
  const Shape expected = channels ? Shape{inputs[-1]} : Shape{};
  for (int i = first; i < first + 2; ++i) {
    const TensorType& type = c.input(i);
    const bool fits = type.shape.rank() == expected.rank() && type.shape.compatible_with(expected);
    if (type.dtype == DType::f32 && fits) continue;
    throw invalid_argument("{}, got {}, expected f32{}", i == first ? "min" : "max", type,
                           expected);
  }
}

void check_fake_quant_dtype(std::string_view what, const TensorType& type) {
  if (type.dtype == DType::f32) return;
  throw invalid_argument("{}, got {}, expected f32", what, type);
}

// The nudged range, in the shape of the inputs, and what belongs to it.
struct Nudged {
  Value scale;
  Value least;
  Value greatest;
  Value none;  // pred: no range was given, both ends are 0
};

Nudged nudge(LowerContext& c, FakeQuantKind kind, int first, const Shape& shape) {
  Builder& b = c.b;
  const bool args = kind == FakeQuantKind::args;
  const auto end = [&](std::string_view name, int offset) {
    return args ? b.scalar(DType::f32, c.attr<double>(name)) : c.input(first + offset);
  };
  const Value min = end("min", 0);
  const Value max = end("max", 1);
  const double low = c.attr<bool>("narrow_range") ? 1 : 0;
  const double high = static_cast<double>((int64_t{1} << c.attr<int64_t>("num_bits")) - 1);
  const auto number = [&](double value) { return b.splat(min.type(), value); };
  const Value scale = b.divide(b.subtract(max, min), number(high - low));
  const Value exact = b.subtract(number(low), b.divide(min, scale));
  const Value zero =
      b.minimum(b.maximum(b.unary(Opcode::round_nearest_afz, exact), number(low)), number(high));
  const auto is_zero = [&](Value x) {
    return b.compare(x, number(0), hlo::ComparisonDirection::eq);
  };
  Dims channels;
  if (kind == FakeQuantKind::per_channel) channels.push_back(shape.rank() - 1);
  const auto spread = [&](Value x) { return b.broadcast_in_dim(x, shape, channels); };
  return {.scale = spread(scale),
          .least = spread(b.multiply(b.subtract(number(low), zero), scale)),
          .greatest = spread(b.multiply(b.subtract(number(high), zero), scale)),
          .none = spread(b.binary(Opcode::and_, is_zero(min), is_zero(max)))};
}

// The sum over all dimensions but the channels.
Value sum_to_range(Builder& b, Value x, FakeQuantKind kind) {
  Dims axes;
  const int kept = kind == FakeQuantKind::per_channel ? 1 : 0;
  for (int axis = 0; axis < x.shape().rank() - kept; ++axis) axes.push_back(axis);
  return b.reduce(x, Opcode::add, axes);
}

}  // namespace

std::vector<TensorType> infer_fake_quant(const InferContext& c, FakeQuantKind kind) {
  check_fake_quant_dtype("inputs", c.input(0));
  check_fake_quant_attrs(c, kind);
  check_fake_quant_range(c, kind, 1);
  return {c.input(0)};
}

std::vector<TensorType> infer_fake_quant_gradient(const InferContext& c, FakeQuantKind kind) {
  check_fake_quant_dtype("gradients", c.input(0));
  check_fake_quant_dtype("inputs", c.input(1));
  if (!c.input(0).shape.compatible_with(c.input(1).shape) ||
      c.input(0).shape.rank() != c.input(1).shape.rank()) {
    throw invalid_argument("gradients and inputs, got {} and {}, expected equal shapes", c.input(0),
                           c.input(1));
  }
  check_fake_quant_attrs(c, kind);
  check_fake_quant_range(c, kind, 2);
  if (kind == FakeQuantKind::args) return {c.input(1)};
  return {c.input(1), c.input(2), c.input(3)};
}

// As TensorFlow computes it: rounds (x - least) / scale less the zero point, ties up.
std::vector<Value> lower_fake_quant(LowerContext& c, FakeQuantKind kind) {
  Builder& b = c.b;
  const Value x = c.input(0);
  const Nudged range = nudge(c, kind, 1, x.shape());
  const auto floor_of_half_more = [&](Value value) {
    return b.unary(Opcode::floor, b.add(value, b.splat_like(value, 0.5)));
  };
  const Value inverse = b.divide(b.splat_like(x, 1), range.scale);
  const Value zero = floor_of_half_more(b.multiply(b.negate(range.least), inverse));
  const Value clamped = b.maximum(b.minimum(x, range.greatest), range.least);
  const Value shifted = b.multiply(b.subtract(clamped, range.least), inverse);
  const Value rounded = b.multiply(floor_of_half_more(b.subtract(shifted, zero)), range.scale);
  return {b.select(range.none, b.splat_like(x, 0), rounded)};
}

std::vector<Value> lower_fake_quant_gradient(LowerContext& c, FakeQuantKind kind) {
  Builder& b = c.b;
  const Value gradient = c.input(0);
  const Value x = c.input(1);
  const Nudged range = nudge(c, kind, 2, x.shape());
  const Value nothing = b.splat_like(x, 0);
  const Value below = b.compare(x, range.least, hlo::ComparisonDirection::lt);
  const Value above = b.compare(x, range.greatest, hlo::ComparisonDirection::gt);
  const Value outside = b.binary(Opcode::or_, below, above);
  const Value inside = b.select(outside, nothing, gradient);
  const Value to_inputs = b.select(range.none, gradient, inside);
  if (kind == FakeQuantKind::args) return {to_inputs};
  const auto to_end = [&](Value where) {
    const Value part = b.select(where, gradient, nothing);
    return sum_to_range(b, b.select(range.none, nothing, part), kind);
  };
  return {to_inputs, to_end(below), to_end(above)};
}

quantization::FakeQuantOptions fake_quant_options(const GradientContext& c) {
  return {.num_bits = c.attr<int64_t>("num_bits"), .narrow_range = c.attr<bool>("narrow_range")};
}

Node* add_fake_quant(std::string_view op, InputRefs inputs, std::string_view name, AttrMap attrs) {
  const Input& first = *inputs.begin();
  return Graph::current().add_node(op, resolve(op, inputs, DType::f32), std::move(attrs),
                                   first.where(), name);
}

AttrMap fake_quant_attrs(const quantization::FakeQuantOptions& options) {
  return {{"num_bits", options.num_bits}, {"narrow_range", options.narrow_range}};
}

AttrMap fake_quant_attrs(const quantization::FakeQuantArgsOptions& options) {
  return {{"min", options.min},
          {"max", options.max},
          {"num_bits", options.num_bits},
          {"narrow_range", options.narrow_range}};
}

}  // namespace systole
