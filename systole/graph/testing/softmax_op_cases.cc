#include <algorithm>
#include <cmath>
#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/testing/nn_op_cases.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// log(exp(x[index]) / sum(exp(x))) in the row that the index lies in.
double log_probability(const Tensor& x, IndexSpan index, size_t axis) {
  Dims at(index.begin(), index.end());
  double most = -kInf;
  double sum = 0;
  for (at[axis] = 0; at[axis] < x.dim(static_cast<int>(axis)); ++at[axis]) {
    most = std::max(most, element_or_0(x, at));
  }
  for (at[axis] = 0; at[axis] < x.dim(static_cast<int>(axis)); ++at[axis]) {
    sum += std::exp(element_or_0(x, at) - most);
  }
  return element_or_0(x, index) - most - std::log(sum);
}

std::vector<Tensor> log_softmax_by_hand(const Tensor& x, int64_t axis, bool exponential) {
  const auto at = static_cast<size_t>(axis < 0 ? axis + x.rank() : axis);
  return {generate(x.shape(), x.dtype(), [&](IndexSpan i) {
    const double value = log_probability(x, i, at);
    return exponential ? std::exp(value) : value;
  })};
}

void add_softmax(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Tensor& x, int64_t axis, bool random) {
    for (const bool exponential : {true, false}) {
      cases.push_back(
          {.name = (exponential ? "softmax_" : "log_softmax_") + name,
           .build =
               [=](auto& in) {
                 return exponential ? softmax(in[0], {.axis = axis})
                                    : log_softmax(in[0], {.axis = axis});
               },
           .inputs = {x},
           .compute = [=](const auto& in) { return log_softmax_by_hand(in[0], axis, exponential); },
           .tolerance = 1e-14,
           .dtypes =
               random ? std::vector{DType::f32, DType::bf16, DType::f16} : std::vector<DType>(),
           .gradient = random,
           .second_order = random});
    }
  };
  add("rows", random_tensor({3, 5}, -3, 3, DType::f64), -1, true);
  add("vector", random_tensor({4}, -3, 3, DType::f64), 0, true);
  add("columns", random_tensor({3, 4}, -3, 3, DType::f64), 0, true);
  add("middle", random_tensor({2, 3, 2}, -3, 3, DType::f64), 1, true);
  add("cube", random_tensor({2, 2, 3}, -3, 3, DType::f64), 2, true);
  add("large", Tensor::of<double>({2, 3}, {1e4, 1e4 - 1, 0, -1e4, -1e4, -2e4}), -1, false);
  add("masked", Tensor::of<double>({1, 3}, {-kInf, 1, 2}), -1, false);
  add("one_class", Tensor::of<double>({2, 1}, {5, -5}), -1, false);
}

// Distributions along the last axis.
Tensor distributions(const Shape& shape) {
  const std::vector<Tensor> x{random_tensor(shape, 0.5, 2, DType::f64, 9)};
  const int last = shape.rank() - 1;
  return generate(shape, DType::f64, [&](IndexSpan i) {
    Dims at(i.begin(), i.end());
    double sum = 0;
    for (at.back() = 0; at.back() < shape[last]; ++at.back()) sum += element_or_0(x[0], at);
    return element_or_0(x[0], i) / sum;
  });
}

// -sum(weight * log_softmax) along the last axis.
Tensor cross_entropy(const Tensor& logits, const std::function<double(IndexSpan)>& weight) {
  const auto last = static_cast<size_t>(logits.rank() - 1);
  const Dims rows(logits.shape().begin(), logits.shape().end() - 1);
  return generate(Shape(rows), logits.dtype(), [&](IndexSpan row) {
    Dims at(row.begin(), row.end());
    at.push_back(0);
    double sum = 0;
    for (at[last] = 0; at[last] < logits.dim(static_cast<int>(last)); ++at[last]) {
      const double w = weight(at);
      if (w != 0) sum -= w * log_probability(logits, at, last);
    }
    return sum;
  });
}

OpCase dense_case(const std::string& name, const Tensor& logits, const Tensor& labels) {
  return {.name = "softmax_cross_entropy_" + name,
          .build =
              [](auto& x) {
                return softmax_cross_entropy_with_logits_v2({.labels = x[1], .logits = x[0]});
              },
          .inputs = {logits, labels},
          .compute =
              [](const auto& x) {
                return std::vector{
                    cross_entropy(x[0], [&](IndexSpan i) { return element_or_0(x[1], i); })};
              },
          .tolerance = 1e-14,
          .dtypes = {DType::f32, DType::bf16, DType::f16},
          .second_order = true};
}

void add_dense(std::vector<OpCase>& cases) {
  const Tensor logits = random_tensor({3, 4}, -3, 3, DType::f64);
  cases.push_back(dense_case("rows", logits, distributions({3, 4})));
  cases.push_back(
      dense_case("cube", random_tensor({2, 2, 3}, -3, 3, DType::f64), distributions({2, 2, 3})));
  OpCase stopped = dense_case("stopped", logits, distributions({3, 4}));
  stopped.build = [](auto& x) {
    return softmax_cross_entropy_with_logits({.labels = x[1], .logits = x[0]});
  };
  stopped.no_gradient = {1};
  stopped.second_order = false;
  cases.push_back(std::move(stopped));
  OpCase far = dense_case("far", Tensor::of<double>({2, 2}, {-kInf, 0, 1e4, -1e4}),
                          Tensor::of<double>({2, 2}, {0, 1, 0, 1}));
  far.dtypes = {};
  far.gradient = far.second_order = false;
  cases.push_back(std::move(far));
  OpCase columns =
      dense_case("columns", random_tensor({4, 3}, -3, 3, DType::f64), distributions({3, 4}));
  columns.build = [](auto& x) {
    return softmax_cross_entropy_with_logits_v2(
        {.labels = transpose(x[1]), .logits = x[0], .axis = 0});
  };
  columns.compute = nullptr;
  columns.reference = [](auto& x) {
    return softmax_cross_entropy_with_logits_v2({.labels = x[1], .logits = transpose(x[0])});
  };
  columns.second_order = false;
  cases.push_back(std::move(columns));
}

void add_sparse(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& name, const Tensor& logits, const Tensor& labels) {
    cases.push_back({.name = "sparse_softmax_cross_entropy_" + name,
                     .build =
                         [](auto& x) {
                           return sparse_softmax_cross_entropy_with_logits(
                               {.labels = x[1], .logits = x[0]});
                         },
                     .inputs = {logits, labels},
                     .compute =
                         [](const auto& x) {
                           return std::vector{cross_entropy(x[0], [&](IndexSpan i) {
                             const double label = element_or_0(x[1], i.first(i.size() - 1));
                             return label == static_cast<double>(i.back()) ? 1.0 : 0.0;
                           })};
                         },
                     .tolerance = 1e-14,
                     .dtypes = {DType::f32, DType::bf16, DType::f16},
                     .second_order = true});
  };
  const Tensor logits = random_tensor({3, 4}, -3, 3, DType::f64);
  const Tensor labels = Tensor::of<int32_t>({3}, {2, 0, 3});
  for (const DType dtype : {DType::s32, DType::s64, DType::u8, DType::s8}) {
    add(fmt::format("{}", dtype), logits, labels.cast(dtype));
  }
  add("cube", random_tensor({2, 2, 3}, -3, 3, DType::f64),
      Tensor::of<int32_t>({2, 2}, {0, 2, 1, 1}));
  add("one_row", random_tensor({4}, -3, 3, DType::f64), Tensor(2));
  const auto nan = static_cast<float>(kNan);
  cases.push_back(
      {.name = "sparse_softmax_cross_entropy_out_of_range",
       .build =
           [](auto& x) {
             return sparse_softmax_cross_entropy_with_logits({.labels = x[1], .logits = x[0]});
           },
       .inputs = {Tensor::zeros(DType::f32, {4, 2}), Tensor::of<int32_t>({4}, {-1, 2, 1, 0})},
       .expected = {Tensor::of<float>({4}, {nan, nan, 0.6931472F, 0.6931472F})},
       .gradient = false});
  cases.push_back(
      {.name = "sparse_softmax_cross_entropy_many_classes",
       .build =
           [](auto& x) {
             return sparse_softmax_cross_entropy_with_logits({.labels = x[1], .logits = x[0]});
           },
       .inputs = {Tensor::zeros(DType::f32, {2, 300}), Tensor::of<uint8_t>({2}, {0, 255})},
       .expected = {Tensor::full(DType::f32, {2}, std::log(300.0))},
       .gradient = false});
}

void add_sigmoid(std::vector<OpCase>& cases) {
  OpCase row{.name = "sigmoid_cross_entropy",
             .build =
                 [](auto& x) {
                   return sigmoid_cross_entropy_with_logits({.labels = x[1], .logits = x[0]});
                 },
             .inputs = {random_tensor({3, 4}, -3, 3, DType::f64, 1),
                        random_tensor({3, 4}, 0, 1, DType::f64, 2)},
             .compute =
                 [](const auto& x) {
                   return std::vector{map_elements(x, x[0].dtype(), [](auto v) {
                     const double p = 1 / (1 + std::exp(-v[0]));
                     return -v[1] * std::log(p) - (1 - v[1]) * std::log1p(-p);
                   })};
                 },
             .tolerance = 1e-14,
             .dtypes = {DType::f32, DType::bf16, DType::f16},
             .second_order = true};
  cases.push_back(row);
  row.name += "_far";
  row.inputs = {Tensor::of<double>({4}, {1000, -1000, 1000, -1000}),
                Tensor::of<double>({4}, {1, 0, 0, 1})};
  row.compute = nullptr;
  row.expected = {Tensor::of<double>({4}, {0, 0, 1000, 1000})};
  row.dtypes = {DType::f32};
  row.gradient = row.second_order = false;
  cases.push_back(row);
  row.name = "sigmoid_cross_entropy_at_0";
  row.inputs = {Tensor::of<double>({2}, {0, 0}), Tensor::of<double>({2}, {0, 1})};
  row.expected = {Tensor::of<double>({2}, {std::log(2.0), std::log(2.0)})};
  row.gradient = true;
  cases.push_back(row);
}

}  // namespace

std::vector<OpCase> softmax_op_cases() {
  std::vector<OpCase> cases;
  add_softmax(cases);
  add_dense(cases);
  add_sparse(cases);
  add_sigmoid(cases);
  return cases;
}

}  // namespace systole::graph_testing
