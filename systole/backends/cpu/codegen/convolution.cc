#include <algorithm>

#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/codegen/window.h"
#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/hlo/semantics/cost.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;

// A convolution of any attributes as a reduction. Variables: image, group, feature of the group,
// positions; then input feature of the group, window.
class ConvolutionLoops {
 public:
  explicit ConvolutionLoops(const Instruction& x)
      : x_(x),
        attrs_(x.attrs<hlo::ConvolutionAttrs>()),
        input_(x.operand(0).shape()),
        kernel_(x.operand(1).shape()) {
    groups_ = attrs_.feature_group_count * attrs_.batch_group_count;
    const int64_t features = x.shape()[static_cast<int>(attrs_.output_feature_dimension)];
    sizes = {x.shape()[static_cast<int>(attrs_.output_batch_dimension)], groups_,
             features / groups_};
    for (const int64_t d : attrs_.output_spatial_dimensions)
      sizes.push_back(x.shape()[static_cast<int>(d)]);
    sizes.push_back(kernel_[static_cast<int>(attrs_.kernel_input_feature_dimension)]);
    for (const int64_t d : attrs_.kernel_spatial_dimensions)
      sizes.push_back(kernel_[static_cast<int>(d)]);
  }

  int spatial() const { return static_cast<int>(attrs_.output_spatial_dimensions.size()); }

  // In the order of memory of the output.
  std::vector<Var> kept() const {
    std::vector<std::pair<int64_t, Var>> order = {{2 * attrs_.output_batch_dimension, 0},
                                                  {2 * attrs_.output_feature_dimension, 1},
                                                  {2 * attrs_.output_feature_dimension + 1, 2}};
    for (int d = 0; d < spatial(); ++d) {
      order.emplace_back(2 * attrs_.output_spatial_dimensions[d], 3 + d);
    }
    std::ranges::sort(order);
    std::vector<Var> result;
    for (const auto& [axis, var] : order) result.push_back(var);
    return result;
  }
  std::vector<Var> reduced() const {
    std::vector<Var> result;
    for (int d = 0; d < spatial(); ++d) result.push_back(4 + spatial() + d);
    result.push_back(3 + spatial());
    return result;
  }

  IndexRef output() const {
    std::vector<Affine> at(static_cast<size_t>(x_.shape().rank()));
    at[u(attrs_.output_batch_dimension)] = Affine::variable(0);
    at[u(attrs_.output_feature_dimension)] = feature();
    for (int d = 0; d < spatial(); ++d)
      at[u(attrs_.output_spatial_dimensions[u(d)])] = Affine::variable(3 + d);
    return make_index(x_.shape(), std::move(at));
  }

  IndexRef kernel() const {
    std::vector<Affine> at(static_cast<size_t>(kernel_.rank()));
    at[u(attrs_.kernel_output_feature_dimension)] = feature();
    at[u(attrs_.kernel_input_feature_dimension)] = Affine::variable(3 + spatial());
    for (int d = 0; d < spatial(); ++d) {
      const int64_t axis = attrs_.kernel_spatial_dimensions[u(d)];
      Affine inside = Affine::variable(4 + spatial() + d);
      const bool reversed = !attrs_.window_reversal.empty() && attrs_.window_reversal[u(d)];
      if (reversed) inside = inside * -1 + (kernel_[static_cast<int>(axis)] - 1);
      at[u(axis)] = inside;
    }
    return make_index(kernel_, std::move(at));
  }

  IndexRef input(IndexSpace& space, std::vector<Bound>& bounds) const {
    std::vector<Affine> at(static_cast<size_t>(input_.rank()));
    const int64_t images = sizes[0];
    const int64_t features = sizes[u(3 + spatial())];
    const bool by_feature = attrs_.feature_group_count > 1;
    at[u(attrs_.input_batch_dimension)] =
        Affine::variable(0) + Affine::variable(1, by_feature || groups_ == 1 ? 0 : images);
    at[u(attrs_.input_feature_dimension)] =
        Affine::variable(3 + spatial()) + Affine::variable(1, by_feature ? features : 0);
    for (int d = 0; d < spatial(); ++d) {
      const int64_t axis = attrs_.input_spatial_dimensions[u(d)];
      const WindowStep step{
          .stride = attrs_.window_strides.empty() ? 1 : attrs_.window_strides[u(d)],
          .padding_low = attrs_.padding.empty() ? 0 : attrs_.padding[u(d)].first,
          .base_dilation = attrs_.lhs_dilation.empty() ? 1 : attrs_.lhs_dilation[u(d)],
          .dilation = attrs_.rhs_dilation.empty() ? 1 : attrs_.rhs_dilation[u(d)]};
      at[u(axis)] =
          window_coordinate(space, step, input_[static_cast<int>(axis)], Affine::variable(3 + d),
                            Affine::variable(4 + spatial() + d), bounds);
    }
    return make_index(input_, std::move(at));
  }

  std::vector<int64_t> sizes;

 private:
  Affine feature() const { return Affine::variable(1, sizes[2]) + Affine::variable(2); }

  const Instruction& x_;
  const hlo::ConvolutionAttrs& attrs_;
  const Shape& input_;
  const Shape& kernel_;
  int64_t groups_ = 1;
};

// Small enough that a call, or leave to regroup its sums, gains nothing.
bool is_small(const Instruction& x) { return hlo::cost_of(x).flops <= 2048; }

void emit_convolution_loops(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const ConvolutionLoops loops(x);
  ElementAccess access(thunk);
  add_variables(access, loops.sizes);
  std::vector<Bound> bounds;
  access.visit(x.operand(0), loops.input(access, bounds));
  need_bounds(access, bounds);
  Reduction r{.thunk = thunk,
              .written = f.result_slices(x),
              .sizes = loops.sizes,
              .kept = loops.kept(),
              .reduced = loops.reduced(),
              .accumulators = {product_accumulator(x)},
              .in_order = is_small(x)};
  r.needed = access.needed();
  r.needed.push_back(loops.kernel()->offset());
  r.needed.push_back(loops.output()->offset());
  r.cost = 2;
  const DType wide = r.accumulators[0];
  r.initial = [&](Elements& e) { return Reduction::Values{zero_of(e.f, wide)}; };
  r.combine = [&](Elements& e, const Reduction::Values& so_far) {
    std::vector<Bound> at_bounds;
    const IndexRef at = loops.input(e, at_bounds);
    llvm::Value* a = convert(e.f, x.operand(0).dtype(), wide, e.element(x.operand(0), at));
    if (llvm::Value* inside = emit_inside(e, at_bounds))
      a = e.f.b.CreateSelect(inside, a, zero_of(e.f, wide));
    llvm::Value* b =
        convert(e.f, x.operand(1).dtype(), wide, e.element(x.operand(1), loops.kernel()));
    const bool regroup = !is_small(x) && !is_complex(wide);
    return Reduction::Values{multiply_add(e, wide, so_far[0], a, b, regroup)};
  };
  r.finish = [&](Elements& e, const Reduction::Values& sums) {
    e.f.store(r.written[0], x.dtype(), e.number(loops.output()->offset()),
              convert(e.f, wide, x.dtype(), sums[0]));
  };
  emit_reduction(f, r);
}

// Nothing to add up: zeros.
void emit_zeros(FunctionEmitter& f, const Instruction& x) {
  const Slice to = f.result_slices(x)[0];
  f.b.CreateMemSet(f.address(to), f.b.getInt8(0), static_cast<uint64_t>(to.bytes),
                   llvm::MaybeAlign(1));
}

}  // namespace

void emit_convolution(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0) return;
  if (x.operand(0).shape().num_elements() == 0 || x.operand(1).shape().num_elements() == 0) {
    emit_zeros(f, x);
    return;
  }
  if (f.program.optimize && !is_small(x) && f.try_kernel({KernelKind::convolution, &x}, [&] {
        return std::vector{f.address(f.slice(x.operand(0))), f.address(f.slice(x.operand(1))),
                           f.address(f.result_slices(x)[0])};
      }))
    return;
  emit_convolution_loops(f, x);
}

}  // namespace systole::cpu
