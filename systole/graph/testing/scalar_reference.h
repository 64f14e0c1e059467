// Plain loops over scalars in double: what the rows of op tables compare with.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::graph_testing {

using IndexSpan = std::span<const int64_t>;

// Calls f once for each element of `shape`, with its index, in row-major order.
void for_each_index(const Shape& shape, const std::function<void(IndexSpan)>& f);

// f of each index of `shape`, computed in double and converted to `dtype`.
Tensor generate(const Shape& shape, DType dtype, const std::function<double(IndexSpan)>& f);

// The element of x at `index`, or 0 where that lies outside.
double element_or_0(const Tensor& x, IndexSpan index);

// f of the elements at each place, tensors broadcast against each other; converted to `dtype`.
Tensor map_elements(std::span<const Tensor> tensors, DType dtype,
                    const std::function<double(std::span<const double>)>& f);

// f of the elements that fall together when the axes (in [0, rank)) are removed, in row-major
// order.
Tensor map_groups(const Tensor& x, const std::vector<int64_t>& axes, bool keepdims, DType dtype,
                  const std::function<double(std::span<const double>)>& f);

// The sum of products that an equation like "ij,jk->ik" says: explicit labels, sizes of 1 expand.
Tensor sum_of_products(std::string_view equation, std::span<const Tensor> tensors);

}  // namespace systole::graph_testing
