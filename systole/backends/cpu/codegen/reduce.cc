#include <algorithm>

#include "systole/backends/cpu/analysis/extremum_index.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/steps.h"
#include "systole/backends/cpu/jit/jit.h"
#include "systole/hlo/ir/builder.h"

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

int64_t parts_bytes(const ReduceStep& s) {
  return kMaxParts * s.reductions[0]->shape().num_elements() * kPartBytes *
         static_cast<int64_t>(s.reductions.size());
}

bool have_identities(const ReduceStep& s) {
  return std::ranges::all_of(s.reductions, [](const Instruction* r) { return has_identity(*r); });
}

// How many parts the step's reductions are cut into.
int64_t parts_of(const ReduceStep& s) {
  if (!have_identities(s)) return 1;
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

namespace {

// The code of one step's reductions, in the words of Reduction.
class ReduceCode {
 public:
  ReduceCode(FunctionEmitter& f, const Instruction& x)
      : s_(x),
        shape_(s_.reductions[0]->operand(0).shape()),
        results_(result_slices(f, x)),
        r_{.step = s_.step, .written = results_, .sizes = {shape_.begin(), shape_.end()}} {
    ElementAccess access(s_.step);
    variables_ = add_variables(access, shape_.dims());
    const Dims& removed = s_.reductions[0]->attrs<hlo::DimensionsAttrs>().dimensions;
    for (const Var var : variables_) {
      (std::ranges::find(removed, var) != removed.end() ? r_.reduced : r_.kept).push_back(var);
    }
    note_access(access);
    if (f.program.optimize && have_identities(s_))
      r_.element = {.forms = access.needed(), .reads = access.reads()};
    r_.results = s_.reductions[0]->shape().num_elements();
    r_.scratch = f.scratch(x);
    for (const ElementAccess::Read& read : access.reads()) {
      if (read.leaf.type().byte_size() >= f.program.target.streamed_bytes)
        r_.from_memory.push_back(f.slice(read.leaf));
    }
    r_.gathers = f.rows.count > 0 && gathers_rows(x, f.rows.count);
    r_.initial = [this](Elements& e) { return initial(e, false); };
    r_.identity = [this](Elements& e) { return initial(e, true); };
    r_.target = [this] { return output()->offset(); };
    r_.combine = [this](Elements& e, const Reduction::Values& so_far) {
      return combine(e, so_far);
    };
    r_.merge = [this](Elements& e, const Reduction::Values& so_far, const Reduction::Values& part) {
      return merge(e, so_far, part);
    };
    r_.finish = [this](Elements& e, const Reduction::Values& sums) { finish(e, sums); };
    if (f.program.optimize && s_.side_roots.empty() && !has_identity(*s_.reductions[0])) {
      r_.first = [this](Elements& e) { return elements(e, input()); };
      r_.any_order = s_.reductions.size() == 1 && finds_extremum_index(*s_.reductions[0]);
    }
  }

  const Reduction& reduction() const { return r_; }

 private:
  IndexRef input() const { return make_index(shape_, coordinates(variables_)); }
  IndexRef output() const { return make_index(s_.reductions[0]->shape(), coordinates(r_.kept)); }

  void note_access(ElementAccess& access) {
    const IndexRef index = input();
    for (const Instruction* reduction : s_.reductions) {
      for (int k = 0; k < reduction->num_results(); ++k) {
        access.visit(reduction->operand(k), index);
        r_.accumulators.push_back(reduction->region().parameter(k).dtype());
      }
    }
    for (const Value& root : s_.side_roots) {
      access.visit(root, index_of(root, index));
      access.need(index->offset());
    }
    r_.needed = access.needed();
    r_.needed.push_back(output()->offset());
    r_.cost = access.cost() + static_cast<double>(access.reads().size());
  }

  Reduction::Values initial(Elements& e, bool identities) const {
    Reduction::Values values;
    for (const Instruction* reduction : s_.reductions) {
      for (int k = 0; k < reduction->num_results(); ++k) {
        const Value init = reduction->operand(reduction->num_results() + k);
        llvm::Value* value = convert(e.f, init.dtype(), reduction->region().parameter(k).dtype(),
                                     e.element(init, scalar_index()));
        values.push_back(identities ? identity_of(*reduction, value) : value);
      }
    }
    return values;
  }

  // What is reduced, at the index.
  Reduction::Values elements(Elements& e, const IndexRef& at) const {
    Reduction::Values values;
    for (const Instruction* reduction : s_.reductions) {
      const auto own = elements_at(e, *reduction, at);
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  }

  Reduction::Values merge(Elements& e, const Reduction::Values& so_far,
                          const Reduction::Values& part) const {
    Reduction::Values values;
    for (const Instruction* reduction : s_.reductions) {
      const auto own = [&](const Reduction::Values& all) {
        const auto begin = all.begin() + static_cast<long>(values.size());
        return Reduction::Values(begin, begin + reduction->num_results());
      };
      const auto next = apply_reducer(e, reduction->region(), own(so_far), own(part));
      values.insert(values.end(), next.begin(), next.end());
    }
    return values;
  }

  Reduction::Values combine(Elements& e, const Reduction::Values& so_far) const {
    const IndexRef at = input();
    std::vector<llvm::Value*> side;
    for (const Value& root : s_.side_roots) side.push_back(e.element(root, index_of(root, at)));
    Reduction::Values next = merge(e, so_far, elements(e, at));
    size_t k = 0;
    for (size_t i = 0; i < s_.roots.size(); ++i) {
      if (s_.roots[i].def->is(Opcode::reduce)) continue;
      e.f.store(results_[i], s_.roots[i].dtype(), e.number(at->offset()), side[k++]);
    }
    return next;
  }

  void finish(Elements& e, const Reduction::Values& sums) const {
    llvm::Value* offset = e.number(output()->offset());
    for (size_t i = 0; i < s_.roots.size(); ++i) {
      const Value root = s_.roots[i];
      if (!root.def->is(Opcode::reduce)) continue;
      llvm::Value* sum = sums[s_.first_accumulator(root.def) + static_cast<size_t>(root.index)];
      e.f.store(results_[i], root.dtype(), offset, fit(e.f, root.dtype(), sum));
    }
  }

  ReduceStep s_;
  Shape shape_;
  std::vector<Slice> results_;
  Reduction r_;
  std::vector<Var> variables_;
};

}  // namespace

void emit_reduce(FunctionEmitter& f, const Instruction& x) {
  const ReduceStep s(x);
  if (s.reductions[0]->shape().num_elements() == 0) return;
  emit_reduction(f, ReduceCode(f, x).reduction());
}

}  // namespace systole::cpu
