#include "systole/backends/cpu/codegen/window.h"

#include <algorithm>

#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/steps.h"

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

struct WindowElement {
  IndexRef index;
  std::vector<Bound> bounds;
};

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

void store_results(Elements& e, const Instruction& x, const std::vector<Slice>& written,
                   const IndexRef& at, const Reduction::Values& values) {
  for (size_t k = 0; k < values.size(); ++k) {
    const DType dtype = x.results()[k].dtype;
    e.f.store(written[k], dtype, e.number(at->offset()), fit(e.f, dtype, values[k]));
  }
}

}  // namespace

void emit_reduce_window(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0) return;
  const Step step(x);
  const auto& attrs = x.attrs<hlo::WindowAttrs>();
  const Shape& operand = x.operand(0).shape();
  const int inputs = x.num_results();
  Reduction r{.step = step, .written = result_slices(f, x)};
  ElementAccess access(step);
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
    return convert(e.f, value.dtype(), r.accumulators[static_cast<size_t>(k)],
                   e.element(value, scalar_index()));
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
        llvm::Value* value =
            convert(e.f, x.operand(k).dtype(), r.accumulators[static_cast<size_t>(k)],
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

namespace {

// select_and_scatter for one window, written out: which of its elements is selected, and its
// update.
class WindowScatter {
 public:
  WindowScatter(Elements& e, const Instruction& x, const IndexRef& source, const Slice& result)
      : e_(e), x_(x), b_(e.f.b), result_(result) {
    const auto& attrs = x.attrs<hlo::WindowAttrs>();
    std::vector<Affine> inside(attrs.window_dimensions.size());
    collect(attrs, source->at(e), inside, 0);
  }

  void emit(const IndexRef& source) {
    select();
    llvm::Value* update = e_.element(x_.operand(1), source);
    for (size_t k = 0; k < elements_.size(); ++k) {
      const DType dtype = x_.dtype();
      llvm::Value* chosen = b_.CreateICmpEQ(selected_, b_.getInt32(static_cast<uint32_t>(k)));
      llvm::Value* offset = e_.number(elements_[k].index->offset());
      llvm::Value* old = e_.f.load_from(e_.f.address(result_), dtype, offset);
      llvm::Value* arguments[] = {
          convert(e_.f, dtype, x_.region(1).parameter(0).dtype(), old),
          convert(e_.f, x_.operand(1).dtype(), x_.region(1).parameter(1).dtype(), update)};
      llvm::Value* sum = e_.call(x_.region(1), arguments)[0];
      e_.f.store_to(e_.f.address(result_), dtype, offset, b_.CreateSelect(chosen, sum, old));
    }
  }

 private:
  void collect(const hlo::WindowAttrs& attrs, const std::vector<Affine>& window,
               std::vector<Affine>& inside, size_t axis) {
    if (axis == inside.size()) {
      elements_.push_back(window_element(e_, attrs, x_.shape(), window, inside));
      return;
    }
    for (int64_t i = 0; i < attrs.window_dimensions[axis]; ++i) {
      inside[axis] = i;
      collect(attrs, window, inside, axis + 1);
    }
  }

  // The number of the selected element; -1 when the window covers none.
  void select() {
    selected_ = b_.getInt32(static_cast<uint32_t>(-1));
    llvm::Value* best = nullptr;
    for (size_t k = 0; k < elements_.size(); ++k) {
      llvm::Value* value = e_.element(x_.operand(0), elements_[k].index);
      llvm::Value* take = emit_inside(e_, elements_[k].bounds);
      if (best != nullptr) {
        llvm::Value* arguments[] = {best, value};
        llvm::Value* better = b_.CreateNot(e_.call(x_.region(0), arguments)[0]);
        better = b_.CreateOr(better, b_.CreateICmpSLT(selected_, b_.getInt32(0)));
        take = take == nullptr ? better : b_.CreateAnd(take, better);
      }
      if (take == nullptr) take = b_.getTrue();
      best = best == nullptr ? value : b_.CreateSelect(take, value, best);
      selected_ = b_.CreateSelect(take, b_.getInt32(static_cast<uint32_t>(k)), selected_);
    }
  }

  Elements& e_;
  const Instruction& x_;
  llvm::IRBuilder<>& b_;
  Slice result_;
  std::vector<WindowElement> elements_;
  llvm::Value* selected_ = nullptr;
};

}  // namespace

void emit_select_and_scatter(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0) return;
  const Step step(x);
  const auto& attrs = x.attrs<hlo::WindowAttrs>();
  const Shape& operand = x.operand(0).shape();
  const std::vector<Slice> written = result_slices(f, x);
  emit_loop_over(
      f,
      {.step = step,
       .shape = x.shape(),
       .written = written,
       .visit = [&](ElementAccess& access, const IndexRef& index) { access.need(index->offset()); },
       .store =
           [&](Elements& e, const IndexRef& index) {
             const Value init = x.operand(2);
             llvm::Value* value =
                 convert(e.f, init.dtype(), x.dtype(), e.element(init, scalar_index()));
             e.f.store(written[0], x.dtype(), e.number(index->offset()), value);
           }});
  // Windows that overlap update the same element: only what lies apart for certain goes to
  // different threads.
  bool apart = true;
  for (size_t d = 0; d < attrs.window_dimensions.size(); ++d) {
    apart = apart && attrs.window_dimensions[d] <= attrs.window_strides[d];
  }
  const bool first_apart =
      attrs.window_dimensions.empty() || attrs.window_dimensions[0] <= attrs.window_strides[0];
  emit_loop_over(f, {.step = step,
                     .shape = x.operand(1).shape(),
                     .written = written,
                     .parallel = first_apart,
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           const std::vector<Affine>& window = index->at(access);
                           access.need(index->offset());
                           if (!apart) access.need(window[0]);
                           std::vector<Affine> inside;
                           for (const int64_t size : attrs.window_dimensions)
                             inside.push_back(Affine::variable(access.add_variable(size)));
                           const WindowElement element =
                               window_element(access, attrs, operand, window, inside);
                           need_bounds(access, element.bounds);
                           access.visit(x.operand(0), element.index);
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           WindowScatter(e, x, index, written[0]).emit(index);
                         }});
}

}  // namespace systole::cpu
