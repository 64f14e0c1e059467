#include "systole/graph/lowering/constant_value.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace systole {
namespace {

using Element = std::optional<int64_t>;
using Partial = std::optional<PartialValue>;

constexpr int64_t kMaxElements = 1024;  // longer vectors are data, not shapes
// A graph that was read may be of any depth, and use each value twice to make the next.
constexpr int kDeepest = 1000;
constexpr int kMaxValues = 100'000;

Partial scalar(DType dtype, Element element) { return PartialValue{dtype, {}, {element}}; }

Partial vector(DType dtype, std::vector<Element> elements) {
  const auto n = static_cast<int64_t>(elements.size());
  return PartialValue{dtype, {n}, std::move(elements)};
}

Element known_size(int64_t size) { return size == kUnknown ? Element() : Element(size); }

int64_t int_attr(const Node& node, std::string_view name, int64_t fallback = 0) {
  const auto it = node.attrs().find(name);
  if (it == node.attrs().end()) return fallback;
  const auto* value = std::get_if<int64_t>(&it->second);
  return value == nullptr ? fallback : *value;
}

// The value of an input that must be wholly known for the rule to apply.
std::optional<std::vector<int64_t>> ints_if_known(Output output) {
  const Partial partial = partial_value(output);
  if (!partial || !partial->known()) return std::nullopt;
  std::vector<int64_t> result;
  for (const Element& element : partial->elements) result.push_back(*element);
  return result;
}

Partial const_rule(Node& node) {
  const auto& value = node.attr<Tensor>("value");
  if (!is_integer(value.dtype()) || value.rank() > 1 || value.num_elements() > kMaxElements) {
    return std::nullopt;
  }
  PartialValue result{value.dtype(), value.shape(), {}};
  const Tensor wide = value.cast(DType::s64);
  for (const int64_t element : wide.data<int64_t>()) result.elements.emplace_back(element);
  return result;
}

Partial shape_rule(Node& node) {
  std::vector<Element> elements;
  for (const int64_t size : node.input(0).shape()) elements.push_back(known_size(size));
  return vector(node.output().dtype(), std::move(elements));
}

Partial rank_rule(Node& node) {
  return scalar(node.output().dtype(), node.input(0).shape().rank());
}

Partial size_rule(Node& node) {
  const Shape& shape = node.input(0).shape();
  return scalar(node.output().dtype(),
                shape.is_static() ? Element(shape.num_elements()) : Element());
}

// Identity, Cast, StopGradient, and changes of rank that keep the one element or the vector.
Partial same_elements_rule(Node& node) {
  Partial value = partial_value(node.input(0));
  const TensorType& type = node.output().type();
  if (!value || !is_integer(type.dtype) || !type.is_static() || type.shape.rank() > 1) {
    return std::nullopt;
  }
  if (type.shape.num_elements() != value->shape.num_elements()) return std::nullopt;
  return PartialValue{type.dtype, type.shape, std::move(value->elements)};
}

Partial pack_rule(Node& node) {
  std::vector<Element> elements;
  for (const Output& input : node.inputs()) {
    const Partial value = partial_value(input);
    if (input.shape().rank() != 0) return std::nullopt;
    elements.push_back(value ? value->elements[0] : Element());
  }
  return vector(node.output().dtype(), std::move(elements));
}

Partial unpack_rule(Node& node, int index) {
  const Partial value = partial_value(node.input(0));
  if (!value || value->shape.rank() != 1) return std::nullopt;
  return scalar(value->dtype, value->elements[static_cast<size_t>(index)]);
}

Partial concat_rule(Node& node) {
  std::vector<Element> elements;
  for (const Output& input : node.inputs().first(node.inputs().size() - 1)) {
    const Partial value = partial_value(input);
    if (!value || input.shape().rank() != 1) return std::nullopt;
    elements.insert(elements.end(), value->elements.begin(), value->elements.end());
    if (static_cast<int64_t>(elements.size()) > kMaxElements) return std::nullopt;
  }
  return vector(node.output().dtype(), std::move(elements));
}

Partial slice_rule(Node& node) {
  const Partial value = partial_value(node.input(0));
  const auto begin = ints_if_known(node.input(1));
  const auto size = ints_if_known(node.input(2));
  if (!value || !begin || !size || value->shape.rank() != 1) return std::nullopt;
  const auto n = static_cast<int64_t>(value->elements.size());
  const int64_t count = (*size)[0] == -1 ? n - (*begin)[0] : (*size)[0];
  if ((*begin)[0] < 0 || count < 0 || count > n - (*begin)[0]) return std::nullopt;
  const auto first = value->elements.begin() + (*begin)[0];
  return vector(value->dtype, std::vector<Element>(first, first + count));
}

Partial strided_slice_rule(Node& node) {
  const Partial value = partial_value(node.input(0));
  const auto begin = ints_if_known(node.input(1));
  const auto end = ints_if_known(node.input(2));
  const auto strides = ints_if_known(node.input(3));
  if (!value || value->shape.rank() != 1 || !begin || !end || !strides) return std::nullopt;
  if (begin->size() != 1 || end->size() != 1 || strides->size() != 1) return std::nullopt;
  if (int_attr(node, "ellipsis_mask") != 0 || int_attr(node, "new_axis_mask") != 0) {
    return std::nullopt;
  }
  const auto n = static_cast<int64_t>(value->elements.size());
  const int64_t step = std::clamp((*strides)[0], -n - 1, n + 1);  // none is beyond the next
  if (step == 0) return std::nullopt;
  const auto from_end = [n](int64_t i) { return i < 0 ? i + n : i; };
  if ((int_attr(node, "shrink_axis_mask") & 1) != 0) {
    const int64_t i = from_end((*begin)[0]);
    if (i < 0 || i >= n) return std::nullopt;
    return scalar(value->dtype, value->elements[static_cast<size_t>(i)]);
  }
  const int64_t lowest = step > 0 ? 0 : -1;
  const int64_t highest = step > 0 ? n : n - 1;
  const auto clamped = [&](int64_t i) { return std::clamp(from_end(i), lowest, highest); };
  const int64_t first = (int_attr(node, "begin_mask") & 1) != 0 ? (step > 0 ? lowest : highest)
                                                                : clamped((*begin)[0]);
  const int64_t last =
      (int_attr(node, "end_mask") & 1) != 0 ? (step > 0 ? highest : lowest) : clamped((*end)[0]);
  std::vector<Element> elements;
  for (int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    elements.push_back(value->elements[static_cast<size_t>(i)]);
  }
  return vector(value->dtype, std::move(elements));
}

Partial gather_rule(Node& node) {
  const Partial value = partial_value(node.input(0));
  const Partial indices = partial_value(node.input(1));
  if (!value || !indices || !indices->known() || value->shape.rank() != 1) return std::nullopt;
  PartialValue result{value->dtype, indices->shape, {}};
  for (const Element& index : indices->elements) {
    if (*index < 0 || *index >= value->shape[0]) return std::nullopt;
    result.elements.push_back(value->elements[static_cast<size_t>(*index)]);
  }
  return result;
}

Partial fill_rule(Node& node) {
  const auto dims = ints_if_known(node.input(0));
  const Partial value = partial_value(node.input(1));
  if (!dims || dims->size() > 1 || !value || value->shape.rank() != 0) return std::nullopt;
  const int64_t n = dims->empty() ? 1 : (*dims)[0];
  if (n < 0 || n > kMaxElements) return std::nullopt;
  return PartialValue{value->dtype, Shape(*dims),
                      std::vector<Element>(static_cast<size_t>(n), value->elements[0])};
}

Partial range_rule(Node& node) {
  const auto start = ints_if_known(node.input(0));
  const auto limit = ints_if_known(node.input(1));
  const auto delta = ints_if_known(node.input(2));
  if (!start || !limit || !delta || (*delta)[0] == 0) return std::nullopt;
  std::vector<Element> elements;
  const int64_t step = (*delta)[0];
  for (int64_t i = (*start)[0]; step > 0 ? i < (*limit)[0] : i > (*limit)[0]; i += step) {
    if (static_cast<int64_t>(elements.size()) == kMaxElements) return std::nullopt;
    elements.emplace_back(i);
  }
  return vector(node.output().dtype(), std::move(elements));
}

using Arithmetic = Element (*)(int64_t, int64_t);

Element floor_div(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));  // of the least, itself
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

Element floor_mod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  return a - *floor_div(a, b) * b;
}

const std::map<std::string_view, Arithmetic>& arithmetic() {
  static const std::map<std::string_view, Arithmetic> kRules = {
      {"Add", [](int64_t a, int64_t b) { return Element(a + b); }},
      {"Sub", [](int64_t a, int64_t b) { return Element(a - b); }},
      {"Mul", [](int64_t a, int64_t b) { return Element(a * b); }},
      {"Maximum", [](int64_t a, int64_t b) { return Element(std::max(a, b)); }},
      {"Minimum", [](int64_t a, int64_t b) { return Element(std::min(a, b)); }},
      {"FloorDiv", floor_div},
      {"FloorMod", floor_mod},
  };
  return kRules;
}

Partial arithmetic_rule(Node& node) {
  const Partial a = partial_value(node.input(0));
  const Partial b = partial_value(node.input(1));
  if (!a || !b) return std::nullopt;
  const Arithmetic rule = arithmetic().at(node.op_name());
  const bool a_splats = a->elements.size() == 1;
  const bool b_splats = b->elements.size() == 1;
  if (!a_splats && !b_splats && a->elements.size() != b->elements.size()) return std::nullopt;
  const bool vectors = a->shape.rank() + b->shape.rank() > 0;
  const size_t n = a_splats ? b->elements.size() : a->elements.size();
  PartialValue result{a->dtype, vectors ? Shape{static_cast<int64_t>(n)} : Shape{}, {}};
  for (size_t i = 0; i < n; ++i) {
    const Element x = a->elements[a_splats ? 0 : i];
    const Element y = b->elements[b_splats ? 0 : i];
    result.elements.push_back(x && y ? rule(*x, *y) : Element());
  }
  return result;
}

Partial reduce_rule(Node& node) {
  const Partial value = partial_value(node.input(0));
  if (!value || node.output().shape().rank() != 0) return std::nullopt;
  const bool product = node.op_name() == "Prod";
  int64_t total = product ? 1 : 0;
  for (const Element& element : value->elements) {
    if (!element) return scalar(value->dtype, {});
    total = product ? total * *element : total + *element;
  }
  return scalar(value->dtype, total);
}

using Rule = Partial (*)(Node&);

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> kRules = [] {
    std::map<std::string_view, Rule> rules = {
        {"Const", const_rule},
        {"Shape", shape_rule},
        {"Rank", rank_rule},
        {"Size", size_rule},
        {"Identity", same_elements_rule},
        {"EnsureShape", same_elements_rule},
        {"StopGradient", same_elements_rule},
        {"Cast", same_elements_rule},
        {"Reshape", same_elements_rule},
        {"ExpandDims", same_elements_rule},
        {"Squeeze", same_elements_rule},
        {"Pack", pack_rule},
        {"ConcatV2", concat_rule},
        {"Slice", slice_rule},
        {"StridedSlice", strided_slice_rule},
        {"GatherV2", gather_rule},
        {"Fill", fill_rule},
        {"Range", range_rule},
        {"Prod", reduce_rule},
        {"Sum", reduce_rule},
    };
    for (const auto& row : arithmetic()) rules[row.first] = arithmetic_rule;
    return rules;
  }();
  return kRules;
}

}  // namespace

bool PartialValue::known() const {
  return std::ranges::all_of(elements, [](const Element& element) { return element.has_value(); });
}

Tensor PartialValue::tensor() const {
  std::vector<int64_t> values;
  for (const Element& element : elements) values.push_back(*element);
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
  Node& node = *value.node();
  if (node.op_name() == "Unpack") return unpack_rule(node, value.index());
  const auto rule = rules().find(node.op_name());
  if (rule == rules().end() || !is_integer(value.dtype())) return std::nullopt;
  return rule->second(node);
}

std::optional<Tensor> constant_value(Output value) {
  value = resolve_capture(value);
  while (value.node()->op_name() == "Identity") value = resolve_capture(value.node()->input(0));
  if (value.node()->op_name() == "Const") return value.node()->attr<Tensor>("value");
  const Partial partial = partial_value(value);
  if (!partial || !partial->known()) return std::nullopt;
  return partial->tensor();
}

}  // namespace systole
