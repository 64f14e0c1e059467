#include "systole/backends/cpu/codegen/window.h"

#include <algorithm>

#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/thunks.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

llvm::Value* emit_inside(Elements& e, std::span<const Bound> bounds) {
  llvm::Value* inside = nullptr;
  for (const Bound& bound : bounds) {
    llvm::Value* holds = e.f.b.CreateICmpULE(e.number(bound.x), e.f.i64(bound.last));
    inside = inside == nullptr ? holds : e.f.b.CreateAnd(inside, holds);
  }
  return inside;
}

void need_bounds(ElementAccess& access, std::span<const Bound> bounds) {
  for (const Bound& bound : bounds) access.need(bound.x);
}

namespace {

WindowStep window_step(const hlo::WindowAttrs& attrs, size_t axis) {
  return {.stride = attrs.window_strides[axis],
          .padding_low = attrs.padding[axis].first,
          .base_dilation = attrs.base_dilations.empty() ? 1 : attrs.base_dilations[axis],
          .dilation = attrs.window_dilations.empty() ? 1 : attrs.window_dilations[axis]};
}

}  // namespace

WindowElement window_element(IndexSpace& space, const hlo::WindowAttrs& attrs, const Shape& operand,
                             std::span<const Affine> window, std::span<const Affine> inside) {
  WindowElement result;
  std::vector<Affine> at;
  for (size_t d = 0; d < window.size(); ++d) {
    at.push_back(window_coordinate(space, window_step(attrs, d), operand[static_cast<int>(d)],
                                   window[d], inside[d], result.bounds));
  }
  result.index = make_index(operand, std::move(at));
  return result;
}

namespace {

void store_results(Elements& e, const Instruction& x, const std::vector<Slice>& written,
                   const IndexRef& at, const Reduction::Values& values) {
  for (size_t k = 0; k < values.size(); ++k) {
    const DType dtype = x.results()[k].dtype;
    e.f.store(written[k], dtype, e.number(at->offset()), fit(e.f, dtype, values[k]));
  }
}

}  // namespace

void emit_reduce_window(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0 || emit_running_window(f, x)) return;
  const Thunk thunk(x);
  const auto& attrs = x.attrs<hlo::WindowAttrs>();
  const Shape& operand = x.operand(0).shape();
  const int inputs = x.num_results();
  Reduction r{.thunk = thunk, .written = f.result_slices(x), .in_order = true};
  ElementAccess access(thunk);
  r.sizes.assign(x.shape().begin(), x.shape().end());
  r.sizes.insert(r.sizes.end(), attrs.window_dimensions.begin(), attrs.window_dimensions.end());
  const std::vector<Var> variables = add_variables(access, r.sizes);
  const auto middle = variables.begin() + x.shape().rank();
  r.kept.assign(variables.begin(), middle);
  r.reduced.assign(middle, variables.end());
  const std::vector<Affine> window = coordinates(r.kept);
  const std::vector<Affine> inside = coordinates(r.reduced);
  const IndexRef output = make_index(x.shape(), window);

  access.need(output->offset());
  if (operand.num_elements() != 0) {
    const WindowElement element = window_element(access, attrs, operand, window, inside);
    need_bounds(access, element.bounds);
    for (int k = 0; k < inputs; ++k) access.visit(x.operand(k), element.index);
  }
  for (int k = 0; k < inputs; ++k) r.accumulators.push_back(x.region().parameter(k).dtype());
  r.needed = access.needed();
  r.cost = 2;

  const auto init = [&](Elements& e, int k) {
    const Value value = x.operand(inputs + k);
    return convert(e.f, value.dtype(), r.accumulators[k], e.element(value, scalar_index()));
  };
  r.initial = [&](Elements& e) {
    Reduction::Values values;
    for (int k = 0; k < inputs; ++k) values.push_back(init(e, k));
    return values;
  };
  // Padding and holes hold the initial value.
  r.combine = [&](Elements& e, const Reduction::Values& so_far) {
    Reduction::Values arguments;
    for (int k = 0; k < inputs && operand.num_elements() == 0; ++k) arguments.push_back(init(e, k));
    if (operand.num_elements() != 0) {
      const WindowElement element = window_element(e, attrs, operand, window, inside);
      llvm::Value* covered = emit_inside(e, element.bounds);
      for (int k = 0; k < inputs; ++k) {
        llvm::Value* value = convert(e.f, x.operand(k).dtype(), r.accumulators[k],
                                     e.element(x.operand(k), element.index));
        arguments.push_back(covered == nullptr ? value
                                               : e.f.b.CreateSelect(covered, value, init(e, k)));
      }
    }
    // In order, rounded at each step, as the specification says: windows are small, and it is along
    // the results that loops are vectorised.
    Reduction::Values both = so_far;
    both.insert(both.end(), arguments.begin(), arguments.end());
    return e.call(x.region(), both);
  };
  r.finish = [&](Elements& e, const Reduction::Values& values) {
    store_results(e, x, r.written, output, values);
  };
  emit_reduction(f, r);
}

}  // namespace systole::cpu
