#include <algorithm>

#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/codegen/window.h"
#include "systole/backends/cpu/kernels/onednn_dot.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

DType product_accumulator(const Instruction& x) {
  const DType result = x.dtype();
  const DType operand = x.operand(0).dtype();
  if (is_complex(result)) return result;
  if (result == DType::f64 || operand == DType::f64) return DType::f64;
  if (is_floating(result) || is_floating(operand)) return DType::f32;
  return result;
}

llvm::Value* multiply_add(Elements& e, DType dtype, llvm::Value* sum, llvm::Value* x,
                          llvm::Value* y, bool regroup) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(e.f.b);
  llvm::FastMathFlags flags;
  flags.setAllowContract(regroup && e.f.program.may_regroup());
  flags.setAllowReassoc(regroup && e.f.program.may_regroup());
  e.f.b.setFastMathFlags(flags);
  llvm::Value* product = emit_reducer(e.f, hlo::Opcode::multiply, dtype, x, y);
  return emit_reducer(e.f, hlo::Opcode::add, dtype, sum, product);
}

llvm::Value* zero_of(FunctionEmitter& f, DType dtype) {
  return llvm::Constant::getNullValue(register_type(f.program.context(), dtype));
}

namespace {

void emit_dot_loops(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const DotAxes axes(x);
  ElementAccess access(thunk);
  Reduction r{
      .thunk = thunk, .written = f.result_slices(x), .accumulators = {product_accumulator(x)}};
  std::vector<Affine> lhs_at(static_cast<size_t>(x.operand(0).shape().rank()));
  std::vector<Affine> rhs_at(static_cast<size_t>(x.operand(1).shape().rank()));
  const auto add = [&](int64_t size, bool kept, int64_t lhs_axis, int64_t rhs_axis) {
    const Var var = access.add_variable(size);
    r.sizes.push_back(size);
    (kept ? r.kept : r.reduced).push_back(var);
    if (lhs_axis >= 0) lhs_at[lhs_axis] = Affine::variable(var);
    if (rhs_axis >= 0) rhs_at[rhs_axis] = Affine::variable(var);
  };
  const Shape& lhs = x.operand(0).shape();
  const Shape& rhs = x.operand(1).shape();
  for (size_t k = 0; k < axes.lhs_batch.size(); ++k) {
    add(lhs[static_cast<int>(axes.lhs_batch[k])], true, axes.lhs_batch[k], axes.rhs_batch[k]);
  }
  for (const int64_t axis : axes.lhs_free) add(lhs[static_cast<int>(axis)], true, axis, -1);
  for (const int64_t axis : axes.rhs_free) add(rhs[static_cast<int>(axis)], true, -1, axis);
  for (size_t k = 0; k < axes.lhs_contracting.size(); ++k) {
    add(lhs[static_cast<int>(axes.lhs_contracting[k])], false, axes.lhs_contracting[k],
        axes.rhs_contracting[k]);
  }
  const auto lhs_index = [&] { return make_index(lhs, lhs_at); };
  const auto rhs_index = [&] { return make_index(rhs, rhs_at); };
  const auto result_index = [&] { return make_index(x.shape(), coordinates(r.kept)); };
  r.needed = {lhs_index()->offset(), rhs_index()->offset(), result_index()->offset()};
  r.cost = 2;

  const DType wide = r.accumulators[0];
  r.initial = [&](Elements& e) { return Reduction::Values{zero_of(e.f, wide)}; };
  r.combine = [&](Elements& e, const Reduction::Values& so_far) {
    llvm::Value* a = convert(e.f, x.operand(0).dtype(), wide, e.element(x.operand(0), lhs_index()));
    llvm::Value* b = convert(e.f, x.operand(1).dtype(), wide, e.element(x.operand(1), rhs_index()));
    return Reduction::Values{multiply_add(e, wide, so_far[0], a, b, !is_complex(wide))};
  };
  r.finish = [&](Elements& e, const Reduction::Values& sums) {
    e.f.store(r.written[0], x.dtype(), e.number(result_index()->offset()),
              convert(e.f, wide, x.dtype(), sums[0]));
  };
  emit_reduction(f, r);
}

// A thunk of a row fusion.
void emit_row_dot(FunctionEmitter& f, const Instruction& x) {
  const Slice lhs = f.slice(x.operand(0));
  const Slice result = f.result_slices(x)[0];
  const bool lhs_begins = lhs.memory == Memory::block;
  const auto number = [&](llvm::Value* row) { return f.b.CreateIntToPtr(row, f.b.getPtrTy()); };
  llvm::Value* const first =
      f.b.CreateMul(f.rows.begin, f.i64(x.shape().num_elements() / f.rows.count), "", true, true);
  f.call_kernel(
      {KernelKind::row_dot, &x, lhs_begins ? 1 : 0},
      {f.address(lhs), f.address(f.slice(x.operand(1))),
       f.element_address(result, x.dtype(), first), number(f.rows.begin), number(f.rows.end)});
}

}  // namespace

void emit_dot(FunctionEmitter& f, const Instruction& x) {
  if (f.rows.count > 0) return emit_row_dot(f, x);
  if (x.shape().num_elements() == 0) return;
  if (f.program.optimize && !dot_is_small(x) && f.try_kernel({KernelKind::dot, &x}, [&] {
        return std::vector{f.address(f.slice(x.operand(0))), f.address(f.slice(x.operand(1))),
                           f.address(f.result_slices(x)[0])};
      }))
    return;
  emit_dot_loops(f, x);
}

}  // namespace systole::cpu
