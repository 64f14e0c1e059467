#include "systole/backends/cpu/kernels/onednn_dot.h"

#include <algorithm>

#include "systole/backends/cpu/kernels/onednn.h"
#include "systole/backends/cpu/kernels/openmp.h"
#include "systole/backends/cpu/sizes.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;

constexpr double kSmallWork = 32768;  // multiplications that cost about as much as a call

Dims free_axes(int rank, const Dims& batch, const Dims& contracting) {
  Dims result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const auto has = [&](const Dims& dims) { return std::ranges::find(dims, axis) != dims.end(); };
    if (!has(batch) && !has(contracting)) result.push_back(axis);
  }
  return result;
}

// The step through memory along several axes taken as one; nullopt when there is no single one.
std::optional<int64_t> merged_stride(const Shape& shape, const Dims& axes) {
  const Dims strides = shape.strides();
  std::optional<int64_t> inner;
  int64_t size = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const int64_t extent = shape[static_cast<int>(*axis)];
    if (extent == 1) continue;
    const int64_t stride = strides[static_cast<size_t>(*axis)];
    if (!inner) {
      inner = stride;
    } else if (stride != *inner * size) {
      return std::nullopt;
    }
    size *= extent;
  }
  return inner.value_or(1);
}

// One operand as [batch..., rows, columns].
std::optional<dnnl::memory::desc> dot_layout(const TensorType& type, const Dims& batch,
                                             const Dims& rows, const Dims& columns) {
  const auto dtype = onednn_type(type.dtype);
  const auto row_stride = merged_stride(type.shape, rows);
  const auto column_stride = merged_stride(type.shape, columns);
  if (!dtype || !row_stride || !column_stride) return std::nullopt;
  const Dims strides = type.shape.strides();
  dnnl::memory::dims sizes;
  dnnl::memory::dims steps;
  for (const int64_t axis : batch) {
    sizes.push_back(type.shape[static_cast<int>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  const int64_t m = product(type.shape, rows);
  const int64_t n = product(type.shape, columns);
  sizes.insert(sizes.end(), {m, n});
  // An axis of size 1 has no meaningful stride: use that of a dense matrix.
  int64_t row_step = m == 1 ? n * (n == 1 ? 1 : *column_stride) : *row_stride;
  int64_t column_step = n == 1 ? (m == 1 || *row_stride == 1 ? m * row_step : 1) : *column_stride;
  if (n == 1 && *row_stride != 1) column_step = 1;
  if (row_step != 1 && column_step != 1) return std::nullopt;
  steps.insert(steps.end(), {row_step, column_step});
  return dnnl::memory::desc(sizes, *dtype, steps);
}

bool dot_supported(DType lhs, DType rhs, DType result) {
  if (lhs != rhs) return false;
  if (lhs == DType::f32) return result == DType::f32;
  if (lhs == DType::bf16) return result == DType::bf16 || result == DType::f32;
  return lhs == DType::s8 && result == DType::s32 && host_multiplies_s8();
}

class DotKernel : public Kernel {
 public:
  DotKernel(dnnl::primitive primitive, std::vector<OnednnCall::Operand> operands, int num_threads)
      : call_(std::move(primitive), std::move(operands), num_threads) {}
  void run(std::span<void* const> buffers, RunContext&) const override { call_.run(buffers); }
  bool uses_openmp() const override { return true; }

 private:
  OnednnCall call_;
};

}  // namespace

DotAxes::DotAxes(const Instruction& dot) {
  const auto& attrs = dot.attrs<hlo::DotAttrs>();
  lhs_batch = attrs.lhs_batching_dimensions;
  rhs_batch = attrs.rhs_batching_dimensions;
  lhs_contracting = attrs.lhs_contracting_dimensions;
  rhs_contracting = attrs.rhs_contracting_dimensions;
  lhs_free = free_axes(dot.operand(0).shape().rank(), lhs_batch, lhs_contracting);
  rhs_free = free_axes(dot.operand(1).shape().rank(), rhs_batch, rhs_contracting);
  // The contracted axes in the order in which the left operand has them: the sum does not mind.
  std::vector<size_t> order(lhs_contracting.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return attrs.lhs_contracting_dimensions[i]; });
  for (size_t i = 0; i < order.size(); ++i) {
    lhs_contracting[i] = attrs.lhs_contracting_dimensions[order[i]];
    rhs_contracting[i] = attrs.rhs_contracting_dimensions[order[i]];
  }
}

bool dot_is_small(const Instruction& dot) {
  const DotAxes axes(dot);
  const auto contracted =
      static_cast<double>(product(dot.operand(0).shape(), axes.lhs_contracting));
  const bool vector = product(dot.operand(0).shape(), axes.lhs_free) == 1 ||
                      product(dot.operand(1).shape(), axes.rhs_free) == 1;
  const double work = contracted * static_cast<double>(dot.shape().num_elements());
  return work <= (vector ? 16 * kSmallWork : kSmallWork);
}

std::unique_ptr<Kernel> make_dot_kernel(const Instruction& dot, int num_threads) {
  if (!dot_supported(dot.operand(0).dtype(), dot.operand(1).dtype(), dot.dtype())) return nullptr;
  const DotAxes axes(dot);
  const auto lhs =
      dot_layout(dot.operand(0).type(), axes.lhs_batch, axes.lhs_free, axes.lhs_contracting);
  const auto rhs =
      dot_layout(dot.operand(1).type(), axes.rhs_batch, axes.rhs_contracting, axes.rhs_free);
  if (!lhs || !rhs) return nullptr;
  dnnl::memory::dims sizes;
  for (const int64_t axis : axes.lhs_batch)
    sizes.push_back(dot.operand(0).shape()[static_cast<int>(axis)]);
  sizes.push_back(product(dot.operand(0).shape(), axes.lhs_free));
  sizes.push_back(product(dot.operand(1).shape(), axes.rhs_free));
  dnnl::memory::dims steps(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i) steps[i - 1] = steps[i] * sizes[i];
  const dnnl::memory::desc result(sizes, *onednn_type(dot.dtype()), steps);
  const OpenmpThreads threads(num_threads);
  const auto primitive = try_make([&] {
    return dnnl::matmul(
        describe<dnnl::matmul>(onednn_attributes(), onednn_engine(), *lhs, *rhs, result));
  });
  if (!primitive) return nullptr;
  return std::make_unique<DotKernel>(
      *primitive,
      std::vector<OnednnCall::Operand>{
          {DNNL_ARG_SRC, *lhs}, {DNNL_ARG_WEIGHTS, *rhs}, {DNNL_ARG_DST, result}},
      num_threads);
}

}  // namespace systole::cpu
