#include "systole/graph/core/constant_value.h"

#include <algorithm>

#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

// A graph that was read may be of any depth, and use each value twice to make the next.
constexpr int kDeepest = 1000;
constexpr int kMaxValues = 100'000;

}  // namespace

PartialValue partial_scalar(DType dtype, KnownElement element) { return {dtype, {}, {element}}; }

PartialValue partial_vector(DType dtype, std::vector<KnownElement> elements) {
  const auto n = static_cast<int64_t>(elements.size());
  return {dtype, {n}, std::move(elements)};
}

std::optional<std::vector<int64_t>> known_elements(const Output& value) {
  const auto partial = partial_value(value);
  if (!partial || !partial->known()) return std::nullopt;
  std::vector<int64_t> result;
  for (const KnownElement& element : partial->elements) result.push_back(*element);
  return result;
}

std::optional<PartialValue> same_elements(const Output& output) {
  auto value = partial_value(output.node()->input(0));
  const TensorType& type = output.type();
  if (!value || !is_integer(type.dtype) || !type.is_static() || type.shape.rank() > 1) {
    return std::nullopt;
  }
  if (type.shape.num_elements() != value->shape.num_elements()) return std::nullopt;
  return PartialValue{type.dtype, type.shape, std::move(value->elements)};
}

std::optional<PartialValue> elementwise_elements(const Output& output,
                                                 KnownElement (*rule)(int64_t, int64_t)) {
  const auto a = partial_value(output.node()->input(0));
  const auto b = partial_value(output.node()->input(1));
  if (!a || !b) return std::nullopt;
  const bool a_splats = a->elements.size() == 1;
  const bool b_splats = b->elements.size() == 1;
  if (!a_splats && !b_splats && a->elements.size() != b->elements.size()) return std::nullopt;
  const bool vectors = a->shape.rank() + b->shape.rank() > 0;
  const size_t n = a_splats ? b->elements.size() : a->elements.size();
  PartialValue result{a->dtype, vectors ? Shape{static_cast<int64_t>(n)} : Shape{}, {}};
  for (size_t i = 0; i < n; ++i) {
    const KnownElement x = a->elements[a_splats ? 0 : i];
    const KnownElement y = b->elements[b_splats ? 0 : i];
    result.elements.push_back(x && y ? rule(*x, *y) : KnownElement());
  }
  return result;
}

std::optional<PartialValue> reduced_element(const Output& output, int64_t initial,
                                            int64_t (*rule)(int64_t, int64_t)) {
  const auto value = partial_value(output.node()->input(0));
  if (!value || output.shape().rank() != 0) return std::nullopt;
  int64_t total = initial;
  for (const KnownElement& element : value->elements) {
    if (!element) return partial_scalar(value->dtype, {});
    total = rule(total, *element);
  }
  return partial_scalar(value->dtype, total);
}

bool PartialValue::known() const {
  return std::ranges::all_of(elements, [](const auto& element) { return element.has_value(); });
}

Tensor PartialValue::tensor() const {
  std::vector<int64_t> values;
  for (const KnownElement& element : elements) values.push_back(*element);
  return Tensor::of<int64_t>(shape, values).cast(dtype);
}

Output resolve_capture(Output value) {
  while (value.node()->op_name() == "_Arg") {
    const Graph& function = value.graph();
    const auto it = std::ranges::find(function.arguments(), value);
    const size_t declared = function.arguments().size() - function.captures().size();
    const auto index = static_cast<size_t>(it - function.arguments().begin());
    if (index < declared || it == function.arguments().end()) break;
    value = function.captures()[index - declared];
  }
  return value;
}

std::optional<PartialValue> partial_value(Output value) {
  thread_local int depth = 0;
  thread_local int values = 0;
  struct Deeper {
    Deeper() { values = depth++ == 0 ? 1 : values + 1; }
    ~Deeper() { --depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
  } const deeper;
  if (depth > kDeepest || values > kMaxValues) return std::nullopt;
  value = resolve_capture(value);
  const auto rule = value.node()->op().constant_rule;
  if (rule == nullptr || !is_integer(value.dtype())) return std::nullopt;
  return rule(value);
}

std::optional<Tensor> constant_value(Output value) {
  value = resolve_capture(value);
  while (value.node()->op().traits.passes_on == PassesOn::value) {
    value = resolve_capture(value.node()->input(0));
  }
  if (value.node()->op_name() == "Const") return value.node()->attr<Tensor>("value");
  const auto partial = partial_value(value);
  if (!partial || !partial->known()) return std::nullopt;
  return partial->tensor();
}

std::optional<Tensor> InferContext::constant_input(int i) const {
  return constant_value(inputs[i]);
}

std::optional<Shape> InferContext::input_as_shape(int i) const {
  const Output& value = inputs[i];
  if (value.shape().rank() != 1 || !is_integer(value.dtype())) {
    throw invalid_argument("input {}, got {}, expected a vector of integers", i, value.type());
  }
  if (const auto partial = partial_value(value)) {
    Dims dims;
    for (const auto& element : partial->elements) dims.push_back(element.value_or(kUnknown));
    return Shape(std::move(dims));
  }
  const int64_t rank = value.shape()[0];
  if (rank == kUnknown) return std::nullopt;
  return Shape(Dims(static_cast<size_t>(rank), kUnknown));
}

}  // namespace systole
