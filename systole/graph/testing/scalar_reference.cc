#include "systole/graph/testing/scalar_reference.h"

#include <algorithm>
#include <map>

namespace systole::graph_testing {
namespace {

// The element of x at an index whose last axes are x's; where x has size 1 its only element.
double element(const Tensor& x, std::span<const int64_t> index) {
  index = index.last(static_cast<size_t>(x.rank()));
  int64_t offset = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    offset = offset * x.dim(axis) + (x.dim(axis) == 1 ? 0 : index[axis]);
  }
  return x.as_double(offset);
}

Shape common_shape(std::span<const Tensor> tensors) {
  Dims dims;
  for (const Tensor& tensor : tensors) {
    const auto rank = static_cast<size_t>(tensor.rank());
    if (rank > dims.size()) dims.insert(dims.begin(), rank - dims.size(), 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t& dim = dims[dims.size() - rank + i];
      if (dim == 1) dim = tensor.dim(static_cast<int>(i));
    }
  }
  return Shape(dims);
}

}  // namespace

void for_each_index(const Shape& shape, const std::function<void(IndexSpan)>& f) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t n = shape.num_elements(); n > 0; --n) {
    f(index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      if (++index[at] < shape[axis]) break;
      index[at] = 0;
    }
  }
}

Tensor generate(const Shape& shape, DType dtype, const std::function<double(IndexSpan)>& f) {
  Tensor result(DType::f64, shape);
  double* out = result.data<double>().data();
  for_each_index(shape, [&](IndexSpan index) { *out++ = f(index); });
  return result.cast(dtype);
}

double element_or_0(const Tensor& x, IndexSpan index) {
  int64_t offset = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t i = index[axis];
    if (i < 0 || i >= x.dim(axis)) return 0;
    offset = offset * x.dim(axis) + i;
  }
  return x.as_double(offset);
}

Tensor map_elements(std::span<const Tensor> tensors, DType dtype,
                    const std::function<double(std::span<const double>)>& f) {
  Tensor result(DType::f64, common_shape(tensors));
  double* out = result.data<double>().data();
  std::vector<double> elements(tensors.size());
  for_each_index(result.shape(), [&](std::span<const int64_t> index) {
    for (size_t i = 0; i < tensors.size(); ++i) elements[i] = element(tensors[i], index);
    *out++ = f(elements);
  });
  return result.cast(dtype);
}

Tensor map_groups(const Tensor& x, const std::vector<int64_t>& axes, bool keepdims, DType dtype,
                  const std::function<double(std::span<const double>)>& f) {
  Dims kept;
  Dims dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    kept.push_back(reduced ? 1 : x.dim(axis));
    if (!reduced || keepdims) dims.push_back(kept.back());
  }
  const Shape groups(kept);
  std::vector<std::vector<double>> members(static_cast<size_t>(groups.num_elements()));
  for_each_index(x.shape(), [&](std::span<const int64_t> index) {
    int64_t group = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      group = group * groups[axis] + (groups[axis] == 1 ? 0 : index[axis]);
    }
    members[group].push_back(element(x, index));
  });
  Tensor result(DType::f64, Shape(dims));
  std::ranges::transform(members, result.data<double>().begin(), f);
  return result.cast(dtype);
}

Tensor sum_of_products(std::string_view equation, std::span<const Tensor> tensors) {
  const size_t arrow = equation.find("->");
  std::vector<std::string_view> terms;
  for (size_t begin = 0; begin <= arrow;) {
    const size_t end = std::min(equation.find(',', begin), arrow);
    terms.push_back(equation.substr(begin, end - begin));
    begin = end + 1;
  }
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t axis = 0; axis < terms[i].size(); ++axis) {
      int64_t& size = sizes[terms[i][axis]];
      size = std::max(size, tensors[i].dim(static_cast<int>(axis)));
    }
  }
  const std::string_view result_term = equation.substr(arrow + 2);
  std::string labels(result_term);
  for (const auto& [label, size] : sizes) {
    if (result_term.find(label) == std::string_view::npos) labels += label;
  }
  Dims all;
  for (const char label : labels) all.push_back(sizes[label]);
  const Shape result_shape(std::span<const int64_t>(all).first(result_term.size()));
  Tensor result = Tensor::zeros(DType::f64, result_shape);
  const int64_t inner = std::max<int64_t>(
      1, Shape(all).num_elements() / std::max<int64_t>(1, result_shape.num_elements()));
  int64_t n = 0;
  for_each_index(Shape(all), [&](std::span<const int64_t> index) {
    double product = 1;
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::vector<int64_t> at;
      for (const char label : terms[i]) at.push_back(index[labels.find(label)]);
      product *= element(tensors[i], at);
    }
    result.data<double>()[n++ / inner] += product;
  });
  return result.cast(tensors[0].dtype());
}

}  // namespace systole::graph_testing
