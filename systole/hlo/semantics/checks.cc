#include "systole/hlo/semantics/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"

namespace systole::hlo {
namespace {

bool is_promotable(DType from, DType to) {
  const DTypeInfo& a = dtype_info(from);
  const DTypeInfo& b = dtype_info(to);
  if (from == DType::pred || to == DType::pred) return from == to;
  return a.integer == b.integer && a.floating == b.floating && a.complex == b.complex &&
         a.bits <= b.bits;
}

void check_signature(Opcode opcode, int index, const Computation& region,
                     const std::vector<TensorType>& parameters,
                     const std::vector<TensorType>& results) {
  check_types(to_string(opcode), fmt::format("parameter types of region {}", index),
              parameter_types(region), parameters);
  check_types(to_string(opcode), fmt::format("result types of region {}", index),
              region.has_results() ? result_types(region) : std::vector<TensorType>(), results);
}

}  // namespace

std::string to_string(std::span<const int64_t> values) {
  return fmt::format("[{}]", fmt::join(values.begin(), values.end(), ", "));
}

void check_count(Opcode opcode, std::string_view what, size_t got, int64_t expected) {
  if (static_cast<int64_t>(got) == expected) return;
  throw invalid_argument("{}: {}, got {} values, expected {}", opcode, what, got, expected);
}

void check_axes(Opcode opcode, std::string_view what, std::span<const int64_t> axes, int64_t rank) {
  if (std::ranges::all_of(axes, [rank](int64_t axis) { return axis >= 0 && axis < rank; })) return;
  throw invalid_argument("{}: {}, got {}, expected axes in [0, {})", opcode, what, to_string(axes),
                         rank);
}

void check_unique(Opcode opcode, std::string_view what, std::span<const int64_t> values) {
  if (std::set<int64_t>(values.begin(), values.end()).size() == values.size()) return;
  throw invalid_argument("{}: {}, got {}, expected no value twice", opcode, what,
                         to_string(values));
}

void check_sorted(Opcode opcode, std::string_view what, std::span<const int64_t> values) {
  if (std::ranges::is_sorted(values)) return;
  throw invalid_argument("{}: {}, got {}, expected ascending values", opcode, what,
                         to_string(values));
}

void check_at_least(Opcode opcode, std::string_view what, std::span<const int64_t> values,
                    int64_t minimum) {
  if (std::ranges::all_of(values, [minimum](int64_t value) { return value >= minimum; })) return;
  throw invalid_argument("{}: {}, got {}, expected values >= {}", opcode, what, to_string(values),
                         minimum);
}

int64_t check_dim(Opcode opcode, std::string_view what, Wide value) {
  if (value < 0) {
    throw invalid_argument("{}: {}, got a negative size, expected >= 0", opcode, what);
  }
  if (value > std::numeric_limits<int64_t>::max()) {
    throw invalid_argument("{}: {}, got a size over 2^63, expected one below", opcode, what);
  }
  return static_cast<int64_t>(value);
}

void check_dtype(Opcode opcode, std::string_view what, DType got, DType expected) {
  if (got == expected) return;
  throw invalid_argument("{}: element type of {}, got {}, expected {}", opcode, what, got,
                         expected);
}

void check_integer(Opcode opcode, std::string_view what, const TensorType& type) {
  if (is_integer(type.dtype)) return;
  throw invalid_argument("{}: element type of {}, got {}, expected an integer", opcode, what,
                         type.dtype);
}

void check_scalar(Opcode opcode, std::string_view what, const TensorType& type) {
  if (type.shape.rank() == 0) return;
  throw invalid_argument("{}: {}, got {}, expected a scalar", opcode, what, type);
}

void check_shape(Opcode opcode, std::string_view what, const Shape& got, const Shape& expected) {
  if (got == expected) return;
  throw invalid_argument("{}: shape of {}, got {}, expected {}", opcode, what, got, expected);
}

std::vector<DType> check_inputs_and_initial_values(const InferContext& context) {
  const int num_inputs = context.num_operands() / 2;
  if (context.num_operands() % 2 != 0) {
    throw invalid_argument(
        "{}: number of operands, got {}, expected inputs, as many initial values", context.opcode,
        context.num_operands());
  }
  std::vector<DType> dtypes;
  for (int i = 0; i < num_inputs; ++i) {
    const TensorType& input = context.operand(i);
    const TensorType& initial_value = context.operand(num_inputs + i);
    const std::string what = fmt::format("initial value {}", i);
    check_shape(context.opcode, fmt::format("input {}", i), input.shape, context.operand(0).shape);
    if (initial_value.shape.rank() > 0) {
      throw unimplemented(
          "{}: {}, got {}, expected a scalar: StableHLO's verifier takes an array, and its "
          "specification gives it no meaning",
          context.opcode, what, initial_value);
    }
    check_dtype(context.opcode, what, initial_value.dtype, input.dtype);
    dtypes.push_back(input.dtype);
  }
  return dtypes;
}

void check_product_dtypes(const InferContext& context) {
  const DType lhs = context.operand(0).dtype;
  const DType rhs = context.operand(1).dtype;
  const auto is_real = [](DType dtype) { return is_floating(dtype) || is_integer(dtype); };
  if (is_real(lhs) && is_real(rhs)) return;
  check_dtype(context.opcode, "rhs", rhs, lhs);
}

DType declared_product_dtype(const InferContext& context, DType dtype) {
  if (context.declared.empty()) return dtype;
  const DType declared = context.declared_type().dtype;
  if (!is_numeric(declared) || is_complex(declared) != is_complex(dtype)) {
    throw invalid_argument("{}: element type of result, got {} for operands of {}, expected {}",
                           context.opcode, declared, dtype,
                           is_complex(dtype) ? "a complex one" : "a real one");
  }
  return declared;
}

void check_precision_config(Opcode opcode, std::span<const Precision> config) {
  if (config.size() <= 2) return;
  throw invalid_argument("{}: precision_config, got {} values, expected at most 2", opcode,
                         config.size());
}

std::vector<DType> check_reducer(const InferContext& context, int region,
                                 std::span<const DType> dtypes) {
  const Computation& body = *context.regions[region];
  check_count(context.opcode, fmt::format("parameters of region {}", region),
              static_cast<size_t>(body.num_parameters()), static_cast<int64_t>(2 * dtypes.size()));
  std::vector<TensorType> results;
  std::vector<DType> promoted;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const TensorType& parameter = body.parameter(static_cast<int>(i)).type();
    const DType to = parameter.dtype;
    if (!is_promotable(dtypes[i], to)) {
      throw invalid_argument("{}: element type {} of region {}, got {}, expected {} or wider",
                             context.opcode, i, region, to, dtypes[i]);
    }
    promoted.push_back(to);
    results.push_back({to, {}, parameter.quantized});
  }
  std::vector<TensorType> parameters = results;
  parameters.insert(parameters.end(), results.begin(), results.end());
  check_signature(context.opcode, region, body, parameters, results);
  return promoted;
}

void check_predicate(const InferContext& context, int region, std::span<const DType> dtypes) {
  std::vector<TensorType> parameters;
  for (const DType dtype : dtypes) parameters.insert(parameters.end(), 2, TensorType{dtype, {}});
  check_signature(context.opcode, region, *context.regions[region], parameters,
                  {{DType::pred, {}}});
}

Dims concat(const Dims& a, const Dims& b) {
  Dims both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

bool contains(std::span<const int64_t> values, int64_t value) {
  return std::ranges::find(values, value) != values.end();
}

Dims other_axes(int rank, std::span<const int64_t> axes) {
  Dims others;
  for (int axis = 0; axis < rank; ++axis) {
    if (!contains(axes, axis)) others.push_back(axis);
  }
  return others;
}

}  // namespace systole::hlo
