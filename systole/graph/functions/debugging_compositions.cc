// Functions of debugging_ops.h that are made of other ops.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/lowering/plan.h"

namespace systole {
namespace {

using ComparisonFn = Output (*)(const Input&, const Input&, const NameOptions&);

// "loss:0" for a symbolic tensor, the value for any other.
std::string text_of(const Input& x, const Output& resolved) {
  return x.is_output() ? resolved.name() : x.host_value().to_string(3);
}

std::string with_message(const std::string& message, std::string what) {
  return message.empty() ? what : fmt::format("{}: {}", message, what);
}

Operation assert_all(std::string_view op, std::string_view sign, ComparisonFn holds, const Input& x,
                     const Input& y, const AssertOptions& options) {
  const CompositionScope scope(x.is_output() ? x : y, options.name, op);
  const DType dtype = common_dtype({x, y});
  const Output a = resolve(op, x, dtype);
  const Output b = resolve(op, y, dtype);
  return assert_op(
      reduce_all(holds(a, b, {})),
      {.message = with_message(options.message,
                               fmt::format("{}, got elements of which it is not true, expected "
                                           "{} {} {} for all",
                                           op, text_of(x, a), sign, text_of(y, b)))});
}

// Nothing is left to do when the graph is built.
Operation assert_static(std::string_view op, const Input& x, bool holds, std::string_view got,
                        std::string_view expected, const AssertOptions& options) {
  if (holds) {
    const WhereScope where(x.where());
    return no_op(options.name.empty() ? op : std::string_view(options.name));
  }
  throw at_line(
      invalid_argument("{}", with_message(options.message, fmt::format("{}: x, got {}, expected {}",
                                                                       op, got, expected))),
      x.where());
}

double ten_steps_from_1(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 10 * std::numeric_limits<double>::epsilon();
    case DType::bf16:
      return 10 * 0x1p-7;
    case DType::f16:
      return 10 * 0x1p-10;
    default:
      return 10 * static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}

}  // namespace

Operation assert_equal(const Input& x, const Input& y, const AssertOptions& options) {
  return assert_all("assert_equal", "==", equal, x, y, options);
}
Operation assert_none_equal(const Input& x, const Input& y, const AssertOptions& options) {
  return assert_all("assert_none_equal", "!=", not_equal, x, y, options);
}
Operation assert_less(const Input& x, const Input& y, const AssertOptions& options) {
  return assert_all("assert_less", "<", less, x, y, options);
}
Operation assert_less_equal(const Input& x, const Input& y, const AssertOptions& options) {
  return assert_all("assert_less_equal", "<=", less_equal, x, y, options);
}
Operation assert_greater(const Input& x, const Input& y, const AssertOptions& options) {
  return assert_all("assert_greater", ">", greater, x, y, options);
}
Operation assert_greater_equal(const Input& x, const Input& y, const AssertOptions& options) {
  return assert_all("assert_greater_equal", ">=", greater_equal, x, y, options);
}
Operation assert_positive(const Input& x, const AssertOptions& options) {
  return assert_all("assert_positive", ">", greater, x, 0, options);
}
Operation assert_negative(const Input& x, const AssertOptions& options) {
  return assert_all("assert_negative", "<", less, x, 0, options);
}
Operation assert_non_positive(const Input& x, const AssertOptions& options) {
  return assert_all("assert_non_positive", "<=", less_equal, x, 0, options);
}
Operation assert_non_negative(const Input& x, const AssertOptions& options) {
  return assert_all("assert_non_negative", ">=", greater_equal, x, 0, options);
}

Operation assert_near(const Input& x, const Input& y, const AssertNearOptions& options) {
  const CompositionScope scope(x, options.name, "assert_near");
  const DType dtype = common_dtype({x, y});
  const Output a = resolve("assert_near", x, dtype);
  const Output b = resolve("assert_near", y, dtype);
  check_dtype("assert_near: dtype", a.dtype(), DTypeClass::floating);
  const double rtol = options.rtol.value_or(ten_steps_from_1(a.dtype()));
  const double atol = options.atol.value_or(ten_steps_from_1(a.dtype()));
  const Output near = less_equal(abs(a - b), atol + rtol * abs(b));
  return assert_op(
      reduce_all(near),
      {.message = with_message(options.message,
                               fmt::format("assert_near, got elements of which it is not true, "
                                           "expected |{} - {}| <= {} + {} * |{}| for all",
                                           a.name(), b.name(), atol, rtol, b.name())),
       .name = scope.result().name});
}

Operation assert_rank(const Input& x, int rank, const AssertOptions& options) {
  const TensorType type = resolve("assert_rank", x).type();
  return assert_static("assert_rank", x, type.shape.rank() == rank, type.to_string(),
                       fmt::format("rank {}", rank), options);
}

Operation assert_rank_at_least(const Input& x, int rank, const AssertOptions& options) {
  const TensorType type = resolve("assert_rank_at_least", x).type();
  return assert_static("assert_rank_at_least", x, type.shape.rank() >= rank, type.to_string(),
                       fmt::format("rank {} or more", rank), options);
}

Operation assert_scalar(const Input& x, const AssertOptions& options) {
  const TensorType type = resolve("assert_scalar", x).type();
  return assert_static("assert_scalar", x, type.shape.rank() == 0, type.to_string(), "a scalar",
                       options);
}

Operation assert_type(const Input& x, DType dtype, const AssertOptions& options) {
  const TensorType type = resolve("assert_type", x).type();
  return assert_static("assert_type", x, type.dtype == dtype, type.to_string(),
                       dtype_info(dtype).name, options);
}

Operation assert_integer(const Input& x, const AssertOptions& options) {
  const TensorType type = resolve("assert_integer", x).type();
  return assert_static("assert_integer", x, is_integer(type.dtype), type.to_string(),
                       "an integer dtype", options);
}

Output verify_tensor_all_finite(const Input& t, const std::string& msg,
                                const NameOptions& options) {
  return check_numerics(t, msg, options);
}

namespace {

// Nodes that come after a change of a variable: looking at them would make it.
std::unordered_set<const Node*> nodes_behind_changes(const Graph& graph) {
  std::unordered_set<const Node*> behind;
  const auto is_behind = [&](const Node* node) { return behind.contains(node); };
  const auto is_handle = [](const Output& x) { return x.dtype() == DType::resource; };
  for (const auto& node : graph.nodes()) {
    if ((has_effect(*node) && std::ranges::any_of(node->inputs(), is_handle)) ||
        std::ranges::any_of(node->inputs(), is_behind, &Output::node) ||
        std::ranges::any_of(node->control_inputs(), is_behind)) {
      behind.insert(node.get());
    }
  }
  return behind;
}

}  // namespace

Operation add_check_numerics_ops() {
  Graph& graph = Graph::current();
  const std::unordered_set<const Node*> behind = nodes_behind_changes(graph);
  std::vector<Output> values;
  for (const auto& node : graph.nodes()) {
    if (node->op_name() == "CheckNumerics" || behind.contains(node.get())) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (is_floating(node->output(i).dtype())) values.push_back(node->output(i));
    }
  }
  std::vector<Operation> checks;
  for (const Output& value : values) {
    const WhereScope where(value.node()->where(), /*overrides=*/true);
    checks.emplace_back(check_numerics(value, value.name()));
  }
  return group(checks, "add_check_numerics_ops");
}

}  // namespace systole
