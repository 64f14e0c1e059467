// Stacks elements, copying each once into the memory of the batch.
#include <cstring>

#include "systole/data/nodes.h"

namespace systole::data {
namespace {

// Copies `from` into the corner at index 0 of part `i` of `to`. Parts are at least as large.
template <class Copy>
void copy_corner(const Tensor& from, int64_t i, const Tensor& to, const Copy& copy) {
  const int rank = from.rank();
  const Dims to_strides = to.shape().strides();
  const int64_t run = rank == 0 ? 1 : from.dim(rank - 1);
  const int64_t runs = run == 0 ? 0 : from.num_elements() / run;
  Dims index(static_cast<size_t>(rank), 0);
  for (int64_t r = 0; r < runs; ++r) {
    int64_t offset = i * to_strides[0];
    for (int d = 0; d + 1 < rank; ++d) {
      offset += index[d] * to_strides[static_cast<size_t>(d) + 1];
    }
    copy(r * run, offset, run);
    for (int d = rank - 2; d >= 0; --d) {
      if (++index[d] < from.dim(d)) break;
      index[d] = 0;
    }
  }
}

void copy_padded(const Tensor& from, int64_t i, Tensor& to) {
  if (from.dtype() == DType::string) {
    const auto source = from.data<std::string>();
    const auto target = to.data<std::string>();
    copy_corner(from, i, to, [&](int64_t begin, int64_t at, int64_t count) {
      std::copy_n(source.begin() + begin, count, target.begin() + at);
    });
    return;
  }
  const auto size = static_cast<size_t>(size_of(from.dtype()));
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw());
  copy_corner(from, i, to, [&](int64_t begin, int64_t at, int64_t count) {
    std::memcpy(target + static_cast<size_t>(at) * size, source + static_cast<size_t>(begin) * size,
                static_cast<size_t>(count) * size);
  });
}

void fill(Tensor& tensor, const Tensor& value) {
  if (tensor.dtype() == DType::string) {
    std::ranges::fill(tensor.data<std::string>(), value.item<std::string>());
    return;
  }
  const auto size = static_cast<size_t>(size_of(tensor.dtype()));
  auto* target = static_cast<std::byte*>(tensor.raw());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    std::memcpy(target + static_cast<size_t>(i) * size, value.raw(), size);
  }
}

// Returns the largest size of each unknown dimension; keeps known ones.
Shape padded_shape(std::string_view what, std::span<const Components> rows, size_t component,
                   const Shape& declared) {
  Shape shape = declared;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Shape& got = rows[i][component].shape();
    if (got.rank() != declared.rank()) {
      throw invalid_argument(
          "{}: component {} of element {} of the batch, got {}, expected rank {}", what, component,
          i, got, declared.rank());
    }
    for (int d = 0; d < shape.rank(); ++d) {
      if (declared[d] == kUnknown) {
        shape.set_dim(d, std::max(shape[d], got[d]));
      } else if (got[d] > declared[d]) {
        throw invalid_argument(
            "{}: component {} of element {} of the batch, got {}, expected at most the padded "
            "shape {}",
            what, component, i, got, declared);
      }
    }
  }
  return shape;
}

void stack_into(std::string_view what, const Tensor& first, const Tensor& part, int64_t i,
                Tensor& to) {
  if (part.dtype() != first.dtype() || part.shape() != first.shape()) {
    throw invalid_argument(
        "{}: element {} of the batch, got {}, expected {} as its first element; elements of "
        "different shapes take padded_batch",
        what, i, part.type(), first.type());
  }
  if (part.dtype() == DType::string) {
    std::ranges::copy(part.data<std::string>(),
                      to.data<std::string>().begin() + i * part.num_elements());
    return;
  }
  const auto size = static_cast<size_t>(part.byte_size());
  std::memcpy(static_cast<std::byte*>(to.raw()) + static_cast<size_t>(i) * size, part.raw(), size);
}

}  // namespace

Components stack_rows(std::string_view what, std::span<const Components> rows) {
  Components result;
  const auto count = static_cast<int64_t>(rows.size());
  for (size_t c = 0; c < rows.front().size(); ++c) {
    const Tensor& first = rows.front()[c];
    Tensor stacked(first.dtype(), with_first(count, first.shape()));
    for (int64_t i = 0; i < count; ++i) {
      stack_into(what, first, rows[i][c], i, stacked);
    }
    result.push_back(std::move(stacked));
  }
  return result;
}

Components stack_padded(std::string_view what, std::span<const Components> rows,
                        const Padding& padding) {
  Components result;
  const auto count = static_cast<int64_t>(rows.size());
  for (size_t c = 0; c < padding.shapes.size(); ++c) {
    const Shape shape = padded_shape(what, rows, c, padding.shapes[c]);
    Tensor stacked(rows.front()[c].dtype(), with_first(count, shape));
    fill(stacked, padding.values[c]);
    for (int64_t i = 0; i < count; ++i) copy_padded(rows[i][c], i, stacked);
    result.push_back(std::move(stacked));
  }
  return result;
}

}  // namespace systole::data
