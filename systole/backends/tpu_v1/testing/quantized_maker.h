// Quantized programs with random weights, to compare the machine with the reference.
#pragma once

#include <random>
#include <string>

#include "systole/base/quantized_type.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/quantized.h"

namespace systole::tpu_v1::testing {

// Builds main of a module that rounds as `rounding` says ("tflite" or "single").
class QuantizedMaker {
 public:
  QuantizedMaker(uint32_t seed, const std::string& rounding)
      : random(seed), module("quantized"), main(module.add_function("main")), builder(main) {
    module.attributes[std::string(hlo::kRoundingAttribute)] = '"' + rounding + '"';
  }

  int64_t draw(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  double scale() { return std::uniform_real_distribution<double>(0.01, 0.1)(random); }
  Tensor integers(DType dtype, const Shape& shape, int64_t least, int64_t most) {
    std::vector<int64_t> values(static_cast<size_t>(shape.num_elements()));
    for (int64_t& value : values) value = draw(least, most);
    return Tensor::of<int64_t>(shape, values).cast(dtype);
  }
  hlo::Value op(hlo::Opcode opcode, std::vector<hlo::Value> operands, const TensorType& type,
                hlo::Attrs attrs = hlo::NoAttrs{}) {
    return builder.op(opcode, std::move(operands), std::move(attrs), {type})->result();
  }
  hlo::Value constant(const TensorType& type, Tensor value) {
    return op(hlo::Opcode::constant, {}, type, hlo::ConstantAttrs{std::move(value)});
  }

  // A type with one random scale, for a shape.
  TensorType tensor_type(const Shape& shape, DType storage = DType::s8) {
    const int64_t zero = storage == DType::s16  ? 0
                         : storage == DType::u8 ? draw(100, 140)
                                                : draw(-10, 10);
    return {storage, shape, per_tensor_type(storage, scale(), zero)};
  }
  // A parameter of real numbers, quantized.
  hlo::Value input(const Shape& shape, DType storage = DType::s8) {
    const hlo::Value real = main.add_parameter({DType::f32, shape});
    return op(hlo::Opcode::uniform_quantize, {real}, tensor_type(shape, storage));
  }

  // Weights of 8 bits, stored as `storage`: with one scale for each index of `axis`, or with one.
  hlo::Value weights(const Shape& shape, int axis, bool one_scale = false,
                     DType storage = DType::s8) {
    QuantizedType type = *per_tensor_type(storage, scale(), 0);
    type.storage_min = -127;
    type.storage_max = 127;
    if (!one_scale) {
      type.axis = axis;
      type.zero_points.assign(static_cast<size_t>(shape[axis]), 0);
      type.scales.clear();
      for (int64_t i = 0; i < shape[axis]; ++i) type.scales.push_back(scale());
    }
    return constant({storage, shape, std::make_shared<const QuantizedType>(type)},
                    integers(storage, shape, -127, 127));
  }

  // Products as sums of 32 bits with a bias, then requantized to `to`; with ReLU of the sums if the
  // weights have one scale.
  hlo::Value requantized(hlo::Opcode opcode, hlo::Value x, hlo::Value w, const Shape& shape,
                         const hlo::Attrs& attrs, const TensorType& to) {
    std::vector<double> scales = w.type().quantized->scales;
    for (double& s : scales) s *= x.type().quantized->scales[0];
    const int last = shape.rank() - 1;
    const bool per_axis = w.type().quantized->per_axis();
    const auto type_of_sums = [&](const Shape& of, int axis) {
      return TensorType{DType::s32, of,
                        per_axis ? per_axis_type(DType::s32, axis, scales)
                                 : per_tensor_type(DType::s32, scales[0], 0)};
    };
    const TensorType sum_type = type_of_sums(shape, last);
    hlo::Value sums = op(opcode, {x, w}, sum_type, attrs);
    const TensorType bias_type = type_of_sums(Shape({shape[last]}), 0);
    const hlo::Value bias = constant(bias_type, integers(DType::s32, bias_type.shape, -5000, 5000));
    sums = op(hlo::Opcode::add,
              {sums, op(hlo::Opcode::broadcast_in_dim, {bias}, sum_type,
                        hlo::BroadcastInDimAttrs{Dims{last}})},
              sum_type);
    if (!per_axis) {
      sums = op(hlo::Opcode::maximum, {sums, constant(sum_type, Tensor::zeros(DType::s32, shape))},
                sum_type);
    }
    return op(hlo::Opcode::uniform_quantize, {sums}, to);
  }

  hlo::Value dense(hlo::Value x, int64_t outputs, const TensorType& to, bool relu = false) {
    const int last = x.shape().rank() - 1;
    const DType storage = x.dtype() == DType::s16 ? DType::s16 : DType::s8;
    const hlo::Value w = weights(Shape({x.shape()[last], outputs}), 1, relu, storage);
    return requantized(hlo::Opcode::dot_general, x, w, to.shape,
                       hlo::DotAttrs{.lhs_contracting_dimensions = Dims{last},
                                     .rhs_contracting_dimensions = Dims{0}},
                       to);
  }

  // The zero of x's type, as integers of its shape.
  hlo::Value zeros(hlo::Value x) {
    Tensor zero = integers(x.dtype(), x.shape(), x.type().quantized->zero_point(0),
                           x.type().quantized->zero_point(0));
    return constant(x.type(), std::move(zero));
  }

  std::mt19937 random;
  hlo::Module module;
  hlo::Computation& main;
  hlo::Builder builder;
};

}  // namespace systole::tpu_v1::testing
