#include <cmath>
#include <limits>
#include <optional>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/functions/attention.h"
#include "systole/graph/testing/nn_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUnseen = -1e30;

struct Sizes {
  int64_t batch = 2, queries = 3, keys = 4, heads = 4, groups = 2, size = 3, value_size = 2;

  std::vector<Tensor> operands() const {
    return {random_tensor({batch, queries, heads, size}, -1, 1, DType::f64, 1),
            random_tensor({batch, keys, groups, size}, -1, 1, DType::f64, 2),
            random_tensor({batch, keys, groups, value_size}, -1, 1, DType::f64, 3)};
  }
};

// What is added to a score, by example, head, query and key; nullopt: the query does not see the
// key.
using Bias = std::function<std::optional<double>(int64_t b, int64_t h, int64_t q, int64_t k)>;

std::optional<double> none(int64_t, int64_t, int64_t, int64_t) { return 0; }
std::optional<double> causal(int64_t, int64_t, int64_t q, int64_t k) {
  return k <= q ? std::optional(0.0) : std::nullopt;
}

// softmax(scores) of a query. All keys weigh the same where it sees none.
std::vector<double> weights_of(const std::vector<Tensor>& x, const Dims& query, double scale,
                               const Bias& bias) {
  const int64_t group = query[2] / (x[0].dim(2) / x[1].dim(2));
  std::vector<double> weights;
  double most = -kInf;
  for (int64_t k = 0; k < x[1].dim(1); ++k) {
    double score = 0;
    for (int64_t d = 0; d < x[0].dim(3); ++d) {
      score += element_or_0(x[0], Dims{query[0], query[1], query[2], d}) *
               element_or_0(x[1], Dims{query[0], k, group, d});
    }
    const auto added = bias(query[0], query[2], query[1], k);
    weights.push_back(added ? scale * score + *added : kUnseen);
    most = std::max(most, weights.back());
  }
  double sum = 0;
  for (double& w : weights) sum += w = std::exp(w - most);
  for (double& w : weights) w /= sum;
  return weights;
}

std::vector<Tensor> by_hand(const std::vector<Tensor>& x, double scale, const Bias& bias) {
  const Shape shape{x[0].dim(0), x[0].dim(1), x[0].dim(2), x[2].dim(3)};
  return {generate(shape, x[0].dtype(), [&](IndexSpan i) {
    const Dims query(i.begin(), i.begin() + 3);
    const int64_t group = query[2] / (x[0].dim(2) / x[2].dim(2));
    const std::vector<double> weights = weights_of(x, query, scale, bias);
    double mixed = 0;
    for (int64_t k = 0; k < x[2].dim(1); ++k)
      mixed += weights[static_cast<size_t>(k)] * element_or_0(x[2], Dims{query[0], k, group, i[3]});
    return mixed;
  })};
}

OpCase attention_case(const std::string& name, const Sizes& sizes, const AttentionOptions& options,
                      const Bias& bias) {
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(sizes.size)));
  return {.name = "attention_" + name,
          .build = [=](auto& x) { return attention(x[0], x[1], x[2], options); },
          .inputs = sizes.operands(),
          .compute = [=](const auto& x) { return by_hand(x, scale, bias); },
          .tolerance = 1e-13};
}

// Masks and biases are further inputs: options hold tensors of the graph.
OpCase masked_case(const std::string& name, const Sizes& sizes, const Tensor& given,
                   const AttentionOptions& options, const Bias& bias) {
  OpCase row = attention_case(name, sizes, options, bias);
  row.inputs.push_back(given);
  row.build = [=](auto& x) {
    AttentionOptions own = options;
    (given.dtype() == DType::pred ? own.mask : own.bias) = x[3];
    return attention(x[0], x[1], x[2], own);
  };
  row.known_inputs = {3};
  return row;
}

void add_sizes(std::vector<OpCase>& cases) {
  OpCase groups = attention_case("groups", {}, {}, none);
  groups.dtypes = {DType::f32, DType::bf16, DType::f16};
  groups.second_order = true;
  cases.push_back(std::move(groups));
  cases.push_back(attention_case("heads", {.groups = 4}, {.scale = 0.25}, none));
  cases.push_back(attention_case("one_group", {.heads = 3, .groups = 1}, {}, none));
  cases.push_back(attention_case("one_query", {.queries = 1, .keys = 5}, {}, none));
  cases.push_back(attention_case("one_key", {.keys = 1}, {}, none));
  cases.push_back(attention_case("one_step", {.queries = 1, .keys = 1}, {.causal = true}, causal));
  cases.push_back(
      attention_case("odd_sizes", {.queries = 5, .keys = 7, .size = 5, .value_size = 1}, {}, none));
  cases.push_back(attention_case("no_examples", {.batch = 0}, {.causal = true}, causal));
  cases.push_back(attention_case("no_queries", {.queries = 0}, {}, none));
}

void add_masks(std::vector<OpCase>& cases) {
  cases.push_back(attention_case("causal", {.queries = 4}, {.causal = true}, causal));
  cases.push_back(attention_case("causal_of_few_queries", {}, {.causal = true}, causal));
  // The third query sees nothing.
  const Tensor seen =
      Tensor::of<bool>({4, 4}, {true, false, true, false, false, true, true, true, false, false,
                                false, false, true, true, true, true});
  const auto given = [=](int64_t, int64_t, int64_t q, int64_t k) -> std::optional<double> {
    return element_or_0(seen, Dims{q, k}) != 0 ? std::optional(0.0) : std::nullopt;
  };
  const auto both = [=](int64_t b, int64_t h, int64_t q, int64_t k) -> std::optional<double> {
    return k <= q ? given(b, h, q, k) : std::nullopt;
  };
  cases.push_back(masked_case("mask", {.queries = 4}, seen, {}, given));
  cases.push_back(masked_case("causal_mask", {.queries = 4}, seen, {.causal = true}, both));
  const Tensor bias = random_tensor({2, 1, 1, 4}, -1, 1, DType::f64, 5);
  cases.push_back(masked_case("bias", {}, bias, {}, [=](int64_t b, int64_t, int64_t, int64_t k) {
    return std::optional(element_or_0(bias, Dims{b, 0, 0, k}));
  }));
}

// As softmax of a row of -inf: NaN.
void add_minus_infinity(std::vector<OpCase>& cases) {
  const Tensor bias = Tensor::of<double>({2, 2}, {0, -kInf, -kInf, -kInf});
  OpCase row = masked_case("minus_infinity", {.queries = 2, .keys = 2}, bias, {},
                           [=](int64_t, int64_t, int64_t q, int64_t k) {
                             return std::optional(element_or_0(bias, Dims{q, k}));
                           });
  row.gradient = false;
  cases.push_back(std::move(row));
}

void add_errors(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const std::vector<Shape>& shapes,
                       const std::string& error) {
    OpCase row{.name = "attention_" + name,
               .build = [](auto& x) { return attention(x[0], x[1], x[2]); },
               .error = error};
    for (const Shape& shape : shapes) row.inputs.push_back(Tensor::zeros(DType::f32, shape));
    cases.push_back(std::move(row));
  };
  add("rank", {{2, 3, 4}, {2, 3, 4, 5}, {2, 3, 4, 5}},
      "attention: query, got f32[2,3,4], expected [batch, length, heads, size], at "
      "attention_op_cases.cc:");
  add("size", {{2, 3, 4, 5}, {2, 3, 4, 6}, {2, 3, 4, 5}},
      "attention: query and key, got f32[2,3,4,5] and f32[2,3,4,6], expected equal");
  add("keys", {{2, 3, 4, 5}, {2, 3, 4, 5}, {2, 2, 4, 5}},
      "attention: key and value, got f32[2,3,4,5] and f32[2,2,4,5], expected equal");
  add("groups_that_do_not_divide", {{2, 3, 4, 5}, {2, 3, 3, 5}, {2, 3, 3, 5}},
      "attention: heads, got 4 of query and 3 of key, expected a multiple");
}

}  // namespace

std::vector<OpCase> attention_op_cases() {
  std::vector<OpCase> cases;
  add_sizes(cases);
  add_masks(cases);
  add_minus_infinity(cases);
  add_errors(cases);
  return cases;
}

}  // namespace systole::graph_testing
