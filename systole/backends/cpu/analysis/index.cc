#include "systole/backends/cpu/analysis/index.h"

#include <algorithm>

#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/base/error.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;

Index::Index(Shape shape, std::vector<Affine> at) : shape_(std::move(shape)), at_(std::move(at)) {
  const Dims strides = shape_.strides();
  for (size_t d = 0; d < at_->size(); ++d) offset_ += (*at_)[d] * strides[d];
}

const std::vector<Affine>& Index::at(IndexSpace& space) const {
  if (at_) return *at_;
  std::vector<Affine> at(static_cast<size_t>(shape_.rank()));
  Affine rest = offset_;
  for (int d = shape_.rank() - 1; d > 0; --d) {
    auto [quotient, remainder] = space.divide(rest, shape_[d]);
    at[d] = std::move(remainder);
    rest = std::move(quotient);
  }
  if (!at.empty()) at[0] = std::move(rest);
  at_ = std::move(at);
  return *at_;
}

Var IndexSpace::add_variable(int64_t size) {
  sizes_.push_back(size);
  return num_variables() - 1;
}

std::pair<int64_t, int64_t> IndexSpace::range(const Affine& x) const {
  int64_t low = x.constant;
  int64_t high = x.constant;
  for (const auto& [var, factor] : x.terms) {
    (factor < 0 ? low : high) += factor * (size(var) - 1);
  }
  return {low, high};
}

std::pair<Affine, Affine> IndexSpace::divide(const Affine& x, int64_t divisor) {
  if (divisor == 1) return {x, 0};
  // The terms that are multiples of the divisor divide evenly; the others must stay below it.
  Affine multiples = x.constant / divisor * divisor;
  Affine rest = x.constant % divisor;
  for (const auto& [var, factor] : x.terms) {
    (factor % divisor == 0 ? multiples : rest) += Affine::variable(var, factor);
  }
  const auto [low, high] = range(rest);
  if (low >= 0 && high < divisor) {
    Affine quotient = multiples.constant / divisor;
    for (const auto& [var, factor] : multiples.terms)
      quotient += Affine::variable(var, factor / divisor);
    return {quotient, rest};
  }
  const Var quotient = add_variable(range(x).second / divisor + 1);
  define_quotient(quotient, x, divisor);
  const Var remainder = add_variable(divisor);
  define_remainder(remainder, x, divisor);
  return {Affine::variable(quotient), Affine::variable(remainder)};
}

Affine IndexSpace::element(hlo::Value value, const IndexRef& index, int64_t last) {
  if (last <= 0) return 0;
  const Var result = add_variable(last + 1);
  define_element(result, value, index, last);
  return Affine::variable(result);
}

Affine IndexSpace::clamp(const Affine& x, int64_t last) {
  const auto [low, high] = range(x);
  if (low >= 0 && high <= last) return x;
  const Var result = add_variable(last + 1);
  define_clamp(result, x, last);
  return Affine::variable(result);
}

IndexRef make_index(Shape shape, std::vector<Affine> at) {
  return std::make_shared<const Index>(std::move(shape), std::move(at));
}

IndexRef scalar_index() {
  static const IndexRef scalar = make_index(Shape(), {});
  return scalar;
}

namespace {

using Coordinates = std::vector<Affine>;

Coordinates broadcast(const Instruction& x, const Coordinates& at) {
  const Shape& from = x.operand(0).shape();
  Coordinates result;
  for (const int64_t d : x.attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions) {
    const bool repeated = from[static_cast<int>(result.size())] == 1;
    result.push_back(repeated ? Affine() : at[u(d)]);
  }
  return result;
}

Coordinates transpose(const Instruction& x, const Coordinates& at) {
  const Dims& permutation = x.attrs<hlo::TransposeAttrs>().permutation;
  Coordinates result(at.size());
  for (size_t d = 0; d < at.size(); ++d) result[u(permutation[d])] = at[d];
  return result;
}

Coordinates slice(const Instruction& x, const Coordinates& at) {
  const auto& attrs = x.attrs<hlo::SliceAttrs>();
  Coordinates result;
  for (size_t d = 0; d < at.size(); ++d) {
    result.push_back(at[d] * attrs.strides[d] + attrs.start_indices[d]);
  }
  return result;
}

Coordinates reverse(const Instruction& x, const Coordinates& at) {
  Coordinates result = at;
  for (const int64_t d : x.attrs<hlo::DimensionsAttrs>().dimensions) {
    result[u(d)] = at[u(d)] * -1 + (x.shape()[static_cast<int>(d)] - 1);
  }
  return result;
}

Coordinates dynamic_slice(IndexSpace& space, const Instruction& x, const Coordinates& at) {
  Coordinates result;
  for (int d = 0; d < x.shape().rank(); ++d) {
    const int64_t last = x.operand(0).shape()[d] - x.shape()[d];
    result.push_back(at[u(d)] + space.element(x.operand(1 + d), scalar_index(), last));
  }
  return result;
}

// The coordinates in start_indices of component `component` of the index vector for the batch
// coordinates `batch`.
IndexRef start_index(const Shape& indices, int64_t index_vector_dim, const Coordinates& batch,
                     int64_t component) {
  Coordinates at = batch;
  if (index_vector_dim < indices.rank())
    at.insert(at.begin() + index_vector_dim, Affine(component));
  return make_index(indices, std::move(at));
}

Coordinates gather(IndexSpace& space, const Instruction& x, const Coordinates& at) {
  const auto& attrs = x.attrs<hlo::GatherAttrs>();
  const Shape& operand = x.operand(0).shape();
  const auto has = [](const Dims& dims, int64_t d) {
    return std::ranges::find(dims, d) != dims.end();
  };
  Coordinates batch;
  for (size_t d = 0; d < at.size(); ++d) {
    if (!has(attrs.offset_dims, static_cast<int64_t>(d))) batch.push_back(at[d]);
  }
  Coordinates result(u(operand.rank()));
  for (size_t k = 0; k < attrs.start_index_map.size(); ++k) {
    const int64_t d = attrs.start_index_map[k];
    const int64_t last = operand[static_cast<int>(d)] - attrs.slice_sizes[u(d)];
    result[u(d)] = space.element(
        x.operand(1),
        start_index(x.operand(1).shape(), attrs.index_vector_dim, batch, static_cast<int64_t>(k)),
        last);
  }
  for (size_t k = 0; k < attrs.operand_batching_dims.size(); ++k) {
    int64_t in_indices = attrs.start_indices_batching_dims[k];
    if (in_indices > attrs.index_vector_dim) --in_indices;
    result[u(attrs.operand_batching_dims[k])] = batch[u(in_indices)];
  }
  size_t next = 0;
  for (int d = 0; d < operand.rank(); ++d) {
    if (has(attrs.collapsed_slice_dims, d) || has(attrs.operand_batching_dims, d)) continue;
    result[u(d)] += at[u(attrs.offset_dims[next++])];
  }
  return result;
}

}  // namespace

bool has_operand_index(const Instruction& x) {
  return x.traits().has(hlo::kElementwise) || x.traits().has(hlo::kBitcast) ||
         x.is(Opcode::broadcast_in_dim) || x.is(Opcode::transpose) || x.is(Opcode::slice) ||
         x.is(Opcode::reverse) || x.is(Opcode::dynamic_slice) || x.is(Opcode::gather);
}

IndexRef operand_index(IndexSpace& space, const Instruction& x, int operand,
                       const IndexRef& index) {
  const Shape& shape = x.operand(operand).shape();
  if (x.traits().has(hlo::kElementwise)) {
    return shape.rank() == 0 && index->shape().rank() != 0 ? scalar_index() : index;
  }
  if (x.traits().has(hlo::kBitcast)) return std::make_shared<const Index>(shape, index->offset());
  const Coordinates& at = index->at(space);
  switch (x.opcode()) {
    case Opcode::broadcast_in_dim:
      return make_index(shape, broadcast(x, at));
    case Opcode::transpose:
      return make_index(shape, transpose(x, at));
    case Opcode::slice:
      return make_index(shape, slice(x, at));
    case Opcode::reverse:
      return make_index(shape, reverse(x, at));
    case Opcode::dynamic_slice:
      return make_index(shape, dynamic_slice(space, x, at));
    case Opcode::gather:
      return make_index(shape, gather(space, x, at));
    default:
      throw internal_error("operand_index: opcode, got '{}', {}", x.opcode(), x.describe());
  }
}

}  // namespace systole::cpu
