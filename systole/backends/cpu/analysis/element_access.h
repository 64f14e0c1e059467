// The memory accesses of a thunk, computed before its code is generated.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "systole/backends/cpu/analysis/index.h"

namespace systole::cpu {

// Returns the operand elements from which the instruction computes its result element at `index`,
// in the order its element code takes them. REQUIRES: computes_elements(instruction).
struct ElementSource {
  hlo::Value value;
  IndexRef index;
};
std::vector<ElementSource> element_sources(IndexSpace& space, const hlo::Instruction& instruction,
                                           const IndexRef& index);
// Returns whether the result elements can be computed one by one, each from few operand elements.
bool computes_elements(const hlo::Instruction& instruction);

// A thunk of a program: an instruction whose operands and results are in memory.
class Thunk {
 public:
  explicit Thunk(const hlo::Instruction& instruction) : instruction_(&instruction) {}

  const hlo::Instruction& instruction() const { return *instruction_; }
  bool is_fusion() const { return instruction_->is(hlo::Opcode::fusion); }
  // The values that are stored to the results' memory.
  std::vector<hlo::Value> roots() const;
  // Maps `value`, used inside this thunk, to the operand in memory that it stands for. Returns
  // nullopt if the thunk computes it.
  std::optional<hlo::Value> leaf(hlo::Value value) const;

 private:
  const hlo::Instruction* instruction_;
};

// What one store in a thunk's loop writes: elements of `value`, into the thunk's result number
// `result`. Each result has one such store; a concatenation has one for each operand.
struct ResultPart {
  hlo::Value value;
  size_t result = 0;
  std::function<IndexRef(const IndexRef&)> source;                  // the index in `value`
  std::function<Affine(IndexSpace&, const IndexRef&)> destination;  // the offset in the result
};
// Returns what each iteration of the loop stores. REQUIRES: no root is a reduction.
std::vector<ResultPart> result_parts(const Thunk& thunk);
// Returns the shape that the loop of such a thunk runs over.
Shape loop_shape(const Thunk& thunk);

// Traces elements of values back to memory, and records memory accesses and other uses of indices
// as affine forms.
class ElementAccess : public IndexSpace {
 public:
  explicit ElementAccess(const Thunk& thunk) : thunk_(thunk) {}

  struct Read {
    hlo::Value leaf;
    Affine offset;
  };
  // Records the accesses for the element of `value` at `index`.
  void visit(hlo::Value value, const IndexRef& index);
  // Records that the number `x` is needed.
  void need(const Affine& x) { needed_.push_back(x); }

  const std::vector<Read>& reads() const { return reads_; }
  const std::vector<Affine>& needed() const { return needed_; }
  // Cost of an iteration: elements computed, transcendental functions weighted.
  int cost() const { return cost_; }

 private:
  void define_quotient(Var, const Affine& x, int64_t) override { need(x); }
  void define_remainder(Var, const Affine& x, int64_t) override { need(x); }
  void define_element(Var, hlo::Value value, const IndexRef& index, int64_t) override {
    visit(value, index);
  }
  void define_clamp(Var, const Affine& x, int64_t) override { need(x); }

  const Thunk& thunk_;
  std::vector<Read> reads_;
  std::vector<Affine> needed_;
  std::set<std::tuple<const hlo::Instruction*, int, const Index*>> seen_;
  std::vector<IndexRef> kept_;  // so that no two live at one address
  int cost_ = 0;
};

// Returns whether result and operand may share memory: each operand element is read for the last
// time when the result element at the same place is written.
bool can_update_in_place(const hlo::Instruction& thunk, int operand, int result);

}  // namespace systole::cpu
