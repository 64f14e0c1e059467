#include "systole/backends/cpu/onednn_dot.h"

#include <algorithm>
#include <optional>

namespace systole::cpu {
namespace {

// Several axes of a row-major array seen as one.
struct MergedAxis {
  int64_t size = 1;
  int64_t stride = 1;
};

// nullopt when the axes do not lie behind one another in memory in this order. Axes of size 1 lie anywhere.
std::optional<MergedAxis> merge_axes(const Shape& shape, const Dims& axes) {
  const Dims strides = shape.strides();
  std::optional<MergedAxis> merged;
  for (size_t i = axes.size(); i-- > 0;) {
    const int64_t size = shape[static_cast<int>(axes[i])];
    const int64_t stride = strides[static_cast<size_t>(axes[i])];
    if (size == 1) continue;
    if (!merged) {
      merged = MergedAxis{size, stride};
    } else if (stride == merged->size * merged->stride) {
      merged->size *= size;
    } else {
      return std::nullopt;
    }
  }
  return merged.value_or(MergedAxis{});
}

Dims free_axes(int rank, const Dims& batching, const Dims& contracting) {
  Dims axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::ranges::find(batching, i) == batching.end() && std::ranges::find(contracting, i) == contracting.end()) {
      axes.push_back(i);
    }
  }
  return axes;
}

// [batch, rows, columns] over `axes` of the array.
std::optional<dnnl::memory::desc> matrix_desc(DType dtype, const Shape& shape, const Dims& batch, const Dims& rows,
                                              const Dims& columns) {
  const auto b = merge_axes(shape, batch);
  auto r = merge_axes(shape, rows);
  auto c = merge_axes(shape, columns);
  if (!b || !r || !c) return std::nullopt;
  // The stride of an axis of one element is free: choose what oneDNN takes for a dense matrix.
  if (c->size == 1 && r->stride != 1) c->stride = 1;
  if (r->size == 1) r->stride = std::max<int64_t>(c->size * c->stride, 1);
  if (c->size == 1 && r->stride == 1) c->stride = r->size;
  if (r->stride != 1 && c->stride != 1) return std::nullopt;
  const int64_t matrix = std::max(r->size * r->stride, c->size * c->stride);
  return dnnl::memory::desc({b->size, r->size, c->size}, onednn_dtype(dtype).value(),
                            {b->size == 1 ? matrix : b->stride, r->stride, c->stride});
}

bool supported(DType lhs, DType rhs, DType result) {
  if (lhs == DType::f32) return rhs == DType::f32 && result == DType::f32;
  if (lhs == DType::bf16) return rhs == DType::bf16 && (result == DType::bf16 || result == DType::f32);
  return (lhs == DType::s8 || lhs == DType::u8) && rhs == DType::s8 && result == DType::s32;
}

}  // namespace

std::unique_ptr<OnednnPrimitive> make_onednn_dot(const hlo::DotAttrs& attrs, const TensorType& lhs,
                                                 const TensorType& rhs, const TensorType& result, int threads) {
  if (!supported(lhs.dtype, rhs.dtype, result.dtype) || result.shape.num_elements() == 0 ||
      lhs.shape.num_elements() == 0) {
    return nullptr;
  }
  const Dims lhs_free = free_axes(lhs.shape.rank(), attrs.lhs_batching_dimensions, attrs.lhs_contracting_dimensions);
  const Dims rhs_free = free_axes(rhs.shape.rank(), attrs.rhs_batching_dimensions, attrs.rhs_contracting_dimensions);
  const auto a = matrix_desc(lhs.dtype, lhs.shape, attrs.lhs_batching_dimensions, lhs_free,
                             attrs.lhs_contracting_dimensions);
  const auto b = matrix_desc(rhs.dtype, rhs.shape, attrs.rhs_batching_dimensions, attrs.rhs_contracting_dimensions,
                             rhs_free);
  if (!a || !b) return nullptr;
  const auto sizes_a = a->dims();
  const auto sizes_b = b->dims();
  const dnnl::memory::desc c({sizes_a[0], sizes_a[1], sizes_b[2]}, onednn_dtype(result.dtype).value(),
                             dnnl::memory::format_tag::abc);
  const OnednnThreads scope(threads);
  try {
    const dnnl::matmul::primitive_desc description({*a, *b, c}, onednn_engine());
    return std::make_unique<OnednnPrimitive>(
        dnnl::matmul(description),
        std::vector<OnednnPrimitive::Operand>{
            {DNNL_ARG_SRC, *a, *a}, {DNNL_ARG_WEIGHTS, *b, *b}, {DNNL_ARG_DST, c, c, /*is_output=*/true}},
        threads);
  } catch (const dnnl::error&) {
    return nullptr;  // no implementation for these strides
  }
}

}  // namespace systole::cpu
