#include <algorithm>
#include <array>
#include <compare>
#include <complex>

#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/hlo/semantics/comparator.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

constexpr std::array<std::string_view, 5> kTypeNames = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED",
                                                        "UNSIGNED"};

// Returns the comparison types of a dtype; `notype` stands for the first. Integers also accept the
// type of the other signedness, as StableHLO's verifier does. Only the dtype decides how they
// compare, as in StableHLO's interpreter.
std::vector<ComparisonType> allowed_types(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.floating) return {ComparisonType::float_, ComparisonType::totalorder};
  if (info.complex) return {ComparisonType::float_};
  if (info.is_signed) return {ComparisonType::signed_, ComparisonType::unsigned_};
  return {ComparisonType::unsigned_, ComparisonType::signed_};
}

std::vector<TensorType> infer_compare(const InferContext& context) {
  const TensorType& lhs = context.operand(0);
  const TensorType& rhs = context.operand(1);
  if (lhs.dtype != rhs.dtype || !is_numeric(lhs.dtype)) {  // C1
    throw invalid_argument("compare: element types, got {} and {}, expected equal numeric ones",
                           lhs.dtype, rhs.dtype);
  }
  if (lhs.shape != rhs.shape) {  // C2
    throw invalid_argument("compare: operand shapes, got {} and {}, expected equal", lhs.shape,
                           rhs.shape);
  }
  const ComparisonType type = context.get<CompareAttrs>().compare_type;
  const auto allowed = allowed_types(lhs.dtype);
  if (type != ComparisonType::notype && std::ranges::find(allowed, type) == allowed.end()) {  // C3
    throw invalid_argument("compare: compare_type for {}, got {}, expected {}", lhs.dtype,
                           kTypeNames[static_cast<size_t>(type)],
                           kTypeNames[static_cast<size_t>(allowed[0])]);
  }
  return {{DType::pred, lhs.shape}};
}

template <class T>
std::partial_ordering order(T x, T y) {
  if constexpr (convert_detail::is_complex_type<T>) {
    return x.real() == y.real() ? x.imag() <=> y.imag() : x.real() <=> y.real();
  } else if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>) {
    return x <=> y;
  } else if constexpr (is_narrow_integer<T>) {
    return static_cast<int>(x) <=> static_cast<int>(y);
  } else {
    return static_cast<float>(x) <=> static_cast<float>(y);
  }
}

// Maps a floating-point number's bits to integers in IEEE-754's total order: -NaN, -inf, ..., -0,
// +0, ..., +NaN.
int64_t total_order_key(uint64_t bits, int width) {
  const auto value = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  return value < 0 ? value ^ static_cast<int64_t>(~uint64_t{0} >> 1) : value;
}

std::vector<Tensor> evaluate_compare(const Instruction& instruction,
                                     std::span<const Tensor> operands, const Evaluator&) {
  const auto& attrs = instruction.attrs<CompareAttrs>();
  const Tensor& lhs = operands[0];
  const Tensor& rhs = operands[1];
  const int width = dtype_info(lhs.dtype()).bits;
  Tensor result(instruction.type());
  const std::span<bool> out = result.data<bool>();
  visit_dtype(lhs.dtype(), [&]<class T>() {
    for (size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      out[i] = attrs.compare_type == ComparisonType::totalorder
                   ? holds_for(attrs.direction, total_order_key(element_bits(lhs, at), width) <=>
                                                    total_order_key(element_bits(rhs, at), width))
                   : holds_for(attrs.direction, order<T>(lhs.data<T>()[i], rhs.data<T>()[i]));
    }
  });
  return {result};
}

}  // namespace

extern const OpSemantics compare_semantics{
    .infer = infer_compare,
    .evaluate = evaluate_compare,
    .format = AssemblyFormat{"<comparison_direction>, $*?(, <compare_type>)", TypeForm::functional},
    .example = OpExample{
        .parameters = "%a: tensor<4x$T>, %b: tensor<4x$T>",
        .results = "tensor<4xi1>",
        .body =
            R"(%r = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<4x$T>, tensor<4x$T>) -> tensor<4xi1>)"}};

}  // namespace systole::hlo::ops
