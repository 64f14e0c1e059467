#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/lowering/broadcast.h"
#include "systole/graph/ops/math/einsum_equation.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {
namespace {

bool has(const Dims& labels, int64_t label) {
  return std::ranges::find(labels, label) != labels.end();
}
bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

int64_t index_of(const Dims& labels, int64_t label) {
  return std::ranges::find(labels, label) - labels.begin();
}

// -- The op: one or two operands.

EinsumEquation equation_of(const AttrMap& attrs, size_t num_operands) {
  return parse_einsum(std::get<std::string>(attrs.find("equation")->second), num_operands);
}

// The size of each label. Errors: INVALID_ARGUMENT for sizes that do not agree.
std::map<int64_t, int64_t> label_sizes(std::span<const Dims> labels,
                                       std::span<const Shape> shapes) {
  std::map<int64_t, int64_t> sizes;
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t axis = 0; axis < labels[i].size(); ++axis) {
      const int64_t label = labels[i][axis];
      const int64_t size = shapes[i][static_cast<int>(axis)];
      const auto [it, is_new] = sizes.emplace(label, size);
      const bool agree = it->second == size || it->second == kUnknown || size == kUnknown;
      const bool expands = is_ellipsis_label(label) && (it->second == 1 || size == 1);
      if (!agree && !expands) {
        throw invalid_argument("shapes, got {}, expected equal sizes for equal labels",
                               fmt::join(shapes, " and "));
      }
      if (is_ellipsis_label(label)) {
        it->second = broadcast_shapes({it->second}, {size})[0];
      } else {
        it->second = std::max(it->second, size);
      }
    }
  }
  return sizes;
}

Dims result_labels(const EinsumEquation& equation, std::span<const Shape> shapes) {
  int leading = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    leading = std::max(leading, ellipsis_rank(equation.operands[i], shapes[i].rank()));
  }
  const std::string& term = equation.result;
  if (!term.starts_with('.')) leading = 1;  // makes up for the '.' that is not there
  return einsum_labels(term, static_cast<int>(term.size()) - 1 + leading);
}

std::vector<TensorType> infer_einsum(const InferContext& c) {
  const EinsumEquation equation = equation_of(c.attrs, c.inputs.size());
  std::vector<Dims> labels;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const TensorType& type = c.inputs[i].type();
    check_dtype("dtype", type.dtype, DTypeClass::number);
    if (type.dtype != c.input(0).dtype) {
      throw invalid_argument("dtypes, got {} and {}, expected equal ones", c.input(0), type);
    }
    labels.push_back(einsum_labels(equation.operands[i], type.shape.rank()));
    shapes.push_back(type.shape);
  }
  std::map<int64_t, int64_t> sizes = label_sizes(labels, shapes);
  Dims dims;
  for (const int64_t label : result_labels(equation, shapes)) dims.push_back(sizes[label]);
  return {{c.input(0).dtype, Shape(std::move(dims))}};
}

// An operand while it is being lowered.
struct Operand {
  hlo::Value value;
  Dims labels;
};

// Drops leading axes of size 1 that expand to the other operand's size.
void drop_expanding_axes(hlo::Builder& b, Operand& x, const std::map<int64_t, int64_t>& sizes) {
  Dims labels;
  Dims dims;
  for (size_t axis = 0; axis < x.labels.size(); ++axis) {
    const int64_t size = x.value.shape()[static_cast<int>(axis)];
    if (size != sizes.at(x.labels[axis])) continue;
    labels.push_back(x.labels[axis]);
    dims.push_back(size);
  }
  if (labels.size() == x.labels.size()) return;
  x = {b.reshape(x.value, Shape(std::move(dims))), std::move(labels)};
}

// Sums over axes that neither `other` nor the result has.
void sum_own_axes(hlo::Builder& b, Operand& x, const Dims& other, const Dims& result) {
  Dims axes;
  Dims labels;
  for (size_t axis = 0; axis < x.labels.size(); ++axis) {
    const int64_t label = x.labels[axis];
    if (has(other, label) || has(result, label)) {
      labels.push_back(label);
    } else {
      axes.push_back(static_cast<int64_t>(axis));
    }
  }
  x = {lower_reduce(b, x.value, hlo::Opcode::add, axes), std::move(labels)};
}

// The product; its axes are those of both operands in the result's order, then x's own, then y's
// own.
Operand multiply_operands(hlo::Builder& b, const Operand& x, const Operand& y, const Dims& result) {
  hlo::DotAttrs attrs;
  Dims labels;
  for (const int64_t label : result) {
    if (!has(x.labels, label) || !has(y.labels, label)) continue;
    labels.push_back(label);
    attrs.lhs_batching_dimensions.push_back(index_of(x.labels, label));
    attrs.rhs_batching_dimensions.push_back(index_of(y.labels, label));
  }
  for (const int64_t label : x.labels) {
    if (!has(y.labels, label)) {
      labels.push_back(label);
    } else if (!has(result, label)) {
      attrs.lhs_contracting_dimensions.push_back(index_of(x.labels, label));
      attrs.rhs_contracting_dimensions.push_back(index_of(y.labels, label));
    }
  }
  for (const int64_t label : y.labels) {
    if (!has(x.labels, label)) labels.push_back(label);
  }
  return {b.dot_general(x.value, y.value, std::move(attrs)), std::move(labels)};
}

std::vector<hlo::Value> lower_einsum(LowerContext& c) {
  const EinsumEquation equation = equation_of(c.node.attrs(), c.inputs.size());
  std::vector<Operand> operands;
  std::vector<Dims> labels;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    shapes.push_back(c.inputs[i].shape());
    labels.push_back(einsum_labels(equation.operands[i], shapes[i].rank()));
    operands.push_back({c.inputs[i], labels[i]});
  }
  const std::map<int64_t, int64_t> sizes = label_sizes(labels, shapes);
  const Dims result = result_labels(equation, shapes);
  for (Operand& operand : operands) drop_expanding_axes(c.b, operand, sizes);
  for (size_t i = 0; i < operands.size(); ++i) {
    sum_own_axes(c.b, operands[i], operands.size() == 2 ? operands[1 - i].labels : Dims(), result);
  }
  Operand product = operands[0];
  if (operands.size() == 2) product = multiply_operands(c.b, operands[0], operands[1], result);
  Dims permutation;
  for (const int64_t label : result) permutation.push_back(index_of(product.labels, label));
  const bool in_order = std::ranges::is_sorted(permutation);
  return {in_order ? product.value : c.b.transpose(product.value, permutation)};
}

Output add_einsum(const EinsumEquation& equation, std::vector<Output> operands,
                  std::string_view name = {}) {
  AttrMap attrs{{"equation", equation.to_string()},
                {"N", static_cast<int64_t>(operands.size())},
                {"T", operands[0].dtype()}};
  return Graph::current()
      .add_node("Einsum", std::move(operands), std::move(attrs), {}, name)
      ->output();
}

// einsum() sums what one operand alone has before the op, so that every label of an operand is in
// the other one or in the result: the gradient is an einsum too.
std::vector<Output> einsum_gradient(GradientContext& c) {
  const EinsumEquation equation = equation_of(c.node.attrs(), c.node.inputs().size());
  std::vector<Output> gradients;
  for (int i = 0; i < c.node.num_inputs(); ++i) {
    const std::string& term = equation.operands[i];
    EinsumEquation reversed{{equation.result}, term};
    std::vector<Output> operands{c.grad()};
    if (c.node.num_inputs() == 2) {
      reversed.operands.push_back(equation.operands[1 - i]);
      operands.push_back(c.input(1 - i));
    }
    const Output full = add_einsum(reversed, std::move(operands));
    gradients.push_back(has(term, '.') ? sum_to_shape_of(full, c.input(i)) : full);
  }
  return gradients;
}

// -- The function: any number of operands, two at a time.

struct Term {
  std::string labels;
  Output value;
};

EinsumEquation parsed_at(std::string_view equation, size_t num_operands, SourceLocation where) {
  try {
    return parse_einsum(equation, num_operands);
  } catch (const Error& error) {
    throw at_line(error, where);
  }
}

std::vector<Term> checked_terms(const EinsumEquation& equation, std::string_view text,
                                const std::vector<Output>& values) {
  std::vector<Term> terms;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& labels = equation.operands[i];
    try {
      einsum_labels(labels, values[i].shape().rank());
    } catch (const Error& error) {
      throw at_line(invalid_argument("einsum: equation '{}', {}", text, error.message()), {});
    }
    if (has(labels, '.') && !has(equation.result, '.')) {
      throw at_line(
          invalid_argument(
              "einsum: equation '{}', got no '...' in the result, expected it as in an operand",
              text),
          {});
    }
    terms.push_back({labels, values[i]});
  }
  return terms;
}

// x summed over the labels that are not in `kept`.
Term sum_own_labels(const Term& x, const std::string& kept) {
  const int leading =
      ellipsis_rank(x.labels, x.value.shape().rank()) - (has(x.labels, '.') ? 1 : 0);
  Dims axes;
  std::string labels;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (has(kept, x.labels[i])) {
      labels += x.labels[i];
    } else {
      axes.push_back(static_cast<int64_t>(i) + leading);
    }
  }
  return axes.empty() ? x : Term{labels, reduce_sum(x.value, {.axis = axes})};
}

// One or two terms as one value with the labels `result`.
Output contract_labels(const std::vector<Term>& terms, const std::string& result,
                       const std::string& name = "") {
  EinsumEquation equation{{}, result};
  std::vector<Output> operands;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Term term =
        sum_own_labels(terms[i], terms.size() == 1 ? result : result + terms[1 - i].labels);
    equation.operands.push_back(term.labels);
    operands.push_back(term.value);
  }
  return add_einsum(equation, std::move(operands), name);
}

}  // namespace

Output einsum(std::string_view equation, const InputList& inputs, const NameOptions& options) {
  const SourceLocation where =
      inputs.inputs().empty() ? SourceLocation() : inputs.inputs()[0].where();
  const CompositionScope scope(where, options.name, "einsum");
  const EinsumEquation parsed = parsed_at(equation, inputs.inputs().size(), where);
  std::vector<Term> terms = checked_terms(parsed, equation, inputs.resolve());
  while (terms.size() > 2) {
    // Labels that the operands after the first two, or the result, still need.
    std::string later = parsed.result;
    for (size_t i = 2; i < terms.size(); ++i) later += terms[i].labels;
    std::string product;
    for (const char label : terms[0].labels + terms[1].labels) {
      if (!has(later, label) || has(product, label)) continue;
      product.insert(label == '.' ? 0 : product.size(), 1, label);
    }
    terms[1] = {product, contract_labels({terms[0], terms[1]}, product)};
    terms.erase(terms.begin());
  }
  return contract_labels(terms, parsed.result, scope.result().name);
}

namespace ops {
extern const OpDef op_einsum{
    .name = "Einsum",
    .doc = "A sum of products of one or two tensors by Einstein's convention.",
    .inputs = "inputs: N * T",
    .outputs = "output: T",
    .attrs = "equation: string",
    .infer = infer_einsum,
    .lower = lower_einsum,
    .gradient = einsum_gradient,
};
}  // namespace ops
}  // namespace systole
