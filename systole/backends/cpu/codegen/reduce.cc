#include <algorithm>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/steps.h"
#include "systole/hlo/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

// The reductions at the end of one step, all over one shape in one way, and what else it computes
// on the way there.
struct ReduceStep {
  explicit ReduceStep(const Instruction& x) : step(x), roots(step.roots()) {
    for (const Value& root : roots) {
      if (!root.def->is(Opcode::reduce)) {
        side_roots.push_back(root);
      } else if (std::ranges::find(reductions, root.def) == reductions.end()) {
        reductions.push_back(root.def);
      }
    }
  }

  // Where accumulator 0 of a reduction is among all.
  size_t first_accumulator(const Instruction* reduction) const {
    size_t first = 0;
    for (const Instruction* r : reductions) {
      if (r == reduction) break;
      first += r->results().size();
    }
    return first;
  }

  Step step;
  std::vector<Value> roots;
  std::vector<const Instruction*> reductions;
  std::vector<Value> side_roots;  // of the reduced shape
};

Reduction::Values elements_at(Elements& e, const Instruction& reduction, const IndexRef& index) {
  Reduction::Values values;
  for (int k = 0; k < reduction.num_results(); ++k) {
    const Value operand = reduction.operand(k);
    values.push_back(convert(e.f, operand.dtype(), reduction.region().parameter(k).dtype(),
                             e.element(operand, index)));
  }
  return values;
}

IndexRef index_of(const Value& root, const IndexRef& index) {
  return root.shape() == index->shape()
             ? index
             : std::make_shared<const Index>(root.shape(), index->offset());
}

// Starts a part of a reduction without changing its result. REQUIRES: has_identity.
llvm::Value* identity_of(const Instruction& reduction, llvm::Value* initial) {
  llvm::Type* type = initial->getType();
  switch (*hlo::match_reducer(reduction.region())) {
    case Opcode::add:
      return type->isFloatingPointTy() ? llvm::ConstantFP::getNegativeZero(type)
                                       : llvm::Constant::getNullValue(type);
    case Opcode::multiply:
      return type->isFloatingPointTy() ? llvm::ConstantFP::get(type, 1)
                                       : llvm::ConstantInt::get(type, 1);
    case Opcode::xor_:
      return llvm::Constant::getNullValue(type);
    default:
      return initial;  // taking it in twice is as good as once
  }
}

Reduction::Values initial_values(Elements& e, const ReduceStep& s, bool identities) {
  Reduction::Values values;
  for (const Instruction* reduction : s.reductions) {
    for (int k = 0; k < reduction->num_results(); ++k) {
      const Value init = reduction->operand(reduction->num_results() + k);
      llvm::Value* initial = convert(e.f, init.dtype(), reduction->region().parameter(k).dtype(),
                                     e.element(init, scalar_index()));
      values.push_back(identities ? identity_of(*reduction, initial) : initial);
    }
  }
  return values;
}

Reduction::Values merged(Elements& e, const ReduceStep& s, const Reduction::Values& so_far,
                         const Reduction::Values& part) {
  Reduction::Values values;
  for (size_t k = 0; k < so_far.size(); ++k) {
    values.push_back(apply_reducer(e, s.reductions[k]->region(), {so_far[k]}, {part[k]})[0]);
  }
  return values;
}

int64_t parts_bytes(const ReduceStep& s) {
  return kMostParts * s.reductions[0]->shape().num_elements() * kPartBytes *
         static_cast<int64_t>(s.reductions.size());
}

// How many parts the step's reductions are cut into.
int64_t parts_of(const ReduceStep& s) {
  if (!std::ranges::all_of(s.reductions, [](const Instruction* r) { return has_identity(*r); }))
    return 1;
  const Instruction& first = *s.reductions[0];
  const Dims& removed = first.attrs<hlo::DimensionsAttrs>().dimensions;
  const Shape& shape = first.operand(0).shape();
  int64_t split = 1;
  for (int d = 0; d < shape.rank() && std::ranges::find(removed, d) == removed.end(); ++d)
    split *= shape[d];
  return reduction_parts(shape.num_elements(), first.shape().num_elements(), split);
}

}  // namespace

int64_t gather_scratch_bytes(const Instruction& x) {
  const ReduceStep s(x);
  return s.reductions.empty() ? 0 : parts_bytes(s);
}

int64_t reduce_scratch_bytes(const Instruction& x) {
  const ReduceStep s(x);
  const int64_t parts = s.reductions.empty() ? 1 : parts_of(s);
  return parts == 1 ? 0 : parts_bytes(s);
}

void emit_reduce(FunctionEmitter& f, const Instruction& x) {
  const ReduceStep s(x);
  const Shape shape = s.reductions[0]->operand(0).shape();
  const std::vector<Slice> results = result_slices(f, x);
  if (s.reductions[0]->shape().num_elements() == 0) return;

  ElementAccess access(s.step);
  const std::vector<Var> variables = add_variables(access, shape.dims());
  const Dims& removed = s.reductions[0]->attrs<hlo::DimensionsAttrs>().dimensions;
  Reduction r{.step = s.step, .written = results, .sizes = {shape.begin(), shape.end()}};
  for (const Var var : variables) {
    (std::ranges::find(removed, var) != removed.end() ? r.reduced : r.kept).push_back(var);
  }
  const auto input = [&] { return make_index(shape, coordinates(variables)); };
  const auto output = [&] { return make_index(s.reductions[0]->shape(), coordinates(r.kept)); };

  const IndexRef index = input();
  access.need(output()->offset());
  for (const Instruction* reduction : s.reductions) {
    for (int k = 0; k < reduction->num_results(); ++k) {
      access.visit(reduction->operand(k), index);
      r.accumulators.push_back(reduction->region().parameter(k).dtype());
    }
  }
  for (const Value& root : s.side_roots) {
    access.visit(root, index_of(root, index));
    access.need(index->offset());
  }
  r.needed = access.needed();
  r.cost = access.cost() + static_cast<double>(access.reads().size());

  r.initial = [&](Elements& e) { return initial_values(e, s, false); };
  r.identity = [&](Elements& e) { return initial_values(e, s, true); };
  r.merge = [&](Elements& e, const Reduction::Values& so_far, const Reduction::Values& part) {
    return merged(e, s, so_far, part);
  };
  r.target = [&] { return output()->offset(); };
  r.results = s.reductions[0]->shape().num_elements();
  r.scratch = f.scratch(x);
  r.gathers = f.rows.count > 0 && gathers_rows(x, f.rows.count);
  r.combine = [&](Elements& e, const Reduction::Values& so_far) {
    const IndexRef at = input();
    Reduction::Values next;
    std::vector<llvm::Value*> side;
    for (const Value& root : s.side_roots) side.push_back(e.element(root, index_of(root, at)));
    for (const Instruction* reduction : s.reductions) {
      const auto first = so_far.begin() + static_cast<long>(s.first_accumulator(reduction));
      const Reduction::Values own(first, first + reduction->num_results());
      for (llvm::Value* v :
           apply_reducer(e, reduction->region(), own, elements_at(e, *reduction, at)))
        next.push_back(v);
    }
    size_t k = 0;
    for (size_t i = 0; i < s.roots.size(); ++i) {
      if (s.roots[i].def->is(Opcode::reduce)) continue;
      e.f.store(results[i], s.roots[i].dtype(), e.number(at->offset()), side[k++]);
    }
    return next;
  };
  r.finish = [&](Elements& e, const Reduction::Values& sums) {
    llvm::Value* offset = e.number(output()->offset());
    for (size_t i = 0; i < s.roots.size(); ++i) {
      const Value root = s.roots[i];
      if (!root.def->is(Opcode::reduce)) continue;
      llvm::Value* sum = sums[s.first_accumulator(root.def) + static_cast<size_t>(root.index)];
      e.f.store(results[i], root.dtype(), offset, fit(e.f, root.dtype(), sum));
    }
  };
  emit_reduction(f, r);
}

}  // namespace systole::cpu
