#include <algorithm>

#include "systole/backends/cpu/analysis/extremum_index.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/jit/jit.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kPartElements = 16 * 1024;  // that are worth a part
constexpr int64_t kFewResults = 64 * 1024;

// The reductions at the end of one thunk, all over one shape in one way, and what else it computes
// on the way there.
struct ReduceThunk {
  explicit ReduceThunk(const Instruction& x) : thunk(x), roots(thunk.roots()) {
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

  Thunk thunk;
  std::vector<Value> roots;
  std::vector<const Instruction*> reductions;
  std::vector<Value> side_roots;  // of the reduced shape
};

// What a reducer region does to accumulators: `arguments` are the new elements. One operation is
// done in registers, with leave to regroup; anything else is called.
Reduction::Values apply_reducer(Elements& e, const hlo::Computation& region,
                                const Reduction::Values& so_far,
                                const Reduction::Values& arguments) {
  if (const auto opcode = hlo::match_reducer(region)) {
    llvm::IRBuilderBase::FastMathFlagGuard guard(e.f.b);
    llvm::FastMathFlags flags;
    const bool regroup = *opcode == hlo::Opcode::add || *opcode == hlo::Opcode::multiply;
    flags.setAllowReassoc(regroup && e.f.program.may_regroup());
    e.f.b.setFastMathFlags(flags);
    const DType dtype = region.parameter(0).dtype();
    if (llvm::Value* x = emit_reducer(e.f, *opcode, dtype, so_far[0], arguments[0])) return {x};
  }
  Reduction::Values both = so_far;
  both.insert(both.end(), arguments.begin(), arguments.end());
  return e.call(region, both);
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

int64_t parts_bytes(const ReduceThunk& s) {
  return kMaxParts * s.reductions[0]->shape().num_elements() * kPartBytes *
         static_cast<int64_t>(s.reductions.size());
}

bool have_identities(const ReduceThunk& s) {
  return std::ranges::all_of(s.reductions, [](const Instruction* r) { return has_identity(*r); });
}

// How many parts the thunk's reductions are cut into, whatever the number of threads. Threads share
// the kept axes before those reduced where these are enough.
int64_t parts_of(const ReduceThunk& s) {
  const Instruction& first = *s.reductions[0];
  const Dims& removed = first.attrs<hlo::DimensionsAttrs>().dimensions;
  const Shape& shape = first.operand(0).shape();
  const int64_t results = first.shape().num_elements();
  int64_t split = 1;
  for (int d = 0; d < shape.rank() && std::ranges::find(removed, d) == removed.end(); ++d)
    split *= shape[d];
  const bool few = results > 0 && results <= kFewResults && split < kMaxParts;
  const bool pays = shape.num_elements() >= kMaxParts * std::max(kPartElements, results);
  return few && pays && have_identities(s) ? kMaxParts : 1;
}

}  // namespace

int64_t gather_scratch_bytes(const Instruction& x) {
  const ReduceThunk s(x);
  return s.reductions.empty() ? 0 : parts_bytes(s);
}

int64_t reduce_scratch_bytes(const Instruction& x) {
  const ReduceThunk s(x);
  const int64_t parts = s.reductions.empty() ? 1 : parts_of(s);
  return parts == 1 ? 0 : parts_bytes(s);
}

namespace {

// The code of one thunk's reductions, in the words of Reduction.
class ReduceCode {
 public:
  ReduceCode(FunctionEmitter& f, const Instruction& x)
      : s_(x),
        shape_(s_.reductions[0]->operand(0).shape()),
        results_(f.result_slices(x)),
        access_(s_.thunk),
        variables_(add_variables(access_, shape_.dims())),
        r_{.thunk = s_.thunk, .written = results_, .sizes = {shape_.begin(), shape_.end()}} {
    const Dims& removed = s_.reductions[0]->attrs<hlo::DimensionsAttrs>().dimensions;
    for (const Var var : variables_) {
      (std::ranges::find(removed, var) != removed.end() ? r_.reduced : r_.kept).push_back(var);
    }
    note_access();
    for (const ElementAccess::Read& read : access_.reads()) {
      if (read.leaf.type().byte_size() >= f.program.target.streamed_bytes)
        r_.from_memory.push_back(f.slice(read.leaf));
    }
    r_.initial = [this](Elements& e) { return initial(e, false); };
    r_.combine = [this](Elements& e, const Reduction::Values& so_far) {
      return combine(e, so_far);
    };
    r_.finish = [this](Elements& e, const Reduction::Values& sums) { finish(e, sums); };
  }

  void emit(FunctionEmitter& f, const Instruction& x) {
    const Reduction::Merge merge = [this](Elements& e, const Reduction::Values& so_far,
                                          const Reduction::Values& others) {
      return this->merge(e, so_far, others);
    };
    const Instruction& reduction = *s_.reductions[0];
    if (f.program.optimize && have_identities(s_)) {
      const Slice scratch = f.scratch(x);
      if (scratch.bytes > 0) r_.written.push_back(scratch);
      emit_reduction_in_parts(f, r_,
                              {.identity = [this](Elements& e) { return initial(e, true); },
                               .merge = merge,
                               .forms = access_.needed(),
                               .reads = access_.reads(),
                               .scratch = scratch,
                               .results = reduction.shape().num_elements(),
                               .target = output()->offset(),
                               .gathers = f.rows.count > 0 && gathers_rows(x, f.rows.count)});
    } else if (f.program.optimize && s_.side_roots.empty() && !has_identity(reduction)) {
      emit_reduction_in_segments(
          f, r_,
          {.first = [this](Elements& e) { return elements(e, input()); },
           .merge = merge,
           .any_order = s_.reductions.size() == 1 && finds_extremum_index(reduction)});
    } else {
      emit_reduction(f, r_);
    }
  }

 private:
  IndexRef input() const { return make_index(shape_, coordinates(variables_)); }
  IndexRef output() const { return make_index(s_.reductions[0]->shape(), coordinates(r_.kept)); }

  void note_access() {
    const IndexRef index = input();
    for (const Instruction* reduction : s_.reductions) {
      for (int k = 0; k < reduction->num_results(); ++k) {
        access_.visit(reduction->operand(k), index);
        r_.accumulators.push_back(reduction->region().parameter(k).dtype());
      }
    }
    for (const Value& root : s_.side_roots) {
      access_.visit(root, index_of(root, index));
      access_.need(index->offset());
    }
    r_.needed = access_.needed();
    r_.needed.push_back(output()->offset());
    r_.cost = access_.cost() + static_cast<double>(access_.reads().size());
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
      for (int k = 0; k < reduction->num_results(); ++k) {
        const Value operand = reduction->operand(k);
        values.push_back(convert(e.f, operand.dtype(), reduction->region().parameter(k).dtype(),
                                 e.element(operand, at)));
      }
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

  ReduceThunk s_;
  Shape shape_;
  std::vector<Slice> results_;
  ElementAccess access_;
  std::vector<Var> variables_;
  Reduction r_;
};

}  // namespace

void emit_reduce(FunctionEmitter& f, const Instruction& x) {
  const ReduceThunk s(x);
  if (s.reductions[0]->shape().num_elements() > 0) ReduceCode(f, x).emit(f, x);
}

}  // namespace systole::cpu
