// What a step reads, worked out before any code is made for it.
#pragma once

#include <set>
#include <vector>

#include "systole/backends/cpu/analysis/index.h"

namespace systole::cpu {

// The elements from which an instruction computes its result element at `index`, in the order its
// element code wants them. REQUIRES: computes_elements(instruction).
struct ElementSource {
  hlo::Value value;
  IndexRef index;
};
std::vector<ElementSource> element_sources(IndexSpace& space, const hlo::Instruction& instruction,
                                           const IndexRef& index);
// The instruction's result elements can be computed one by one, each from few elements of its
// operands.
bool computes_elements(const hlo::Instruction& instruction);

// A step of a program: an instruction with memory for its operands and results. For a fusion,
// `leaf` leads from the parameters of its region to the operands that are in memory.
class Step {
 public:
  explicit Step(const hlo::Instruction& instruction) : instruction_(&instruction) {}

  const hlo::Instruction& instruction() const { return *instruction_; }
  bool is_fusion() const { return instruction_->is(hlo::Opcode::fusion); }
  // The values that are computed into the results' memory.
  std::vector<hlo::Value> roots() const;
  // The value in memory that `value`, used inside this step, stands for; none when the step
  // computes it.
  std::optional<hlo::Value> leaf(hlo::Value value) const;

 private:
  const hlo::Instruction* instruction_;
};

// Follows the elements of values back to memory. Memory accesses and other uses of indices are
// noted as sums of the variables.
class ElementAccess : public IndexSpace {
 public:
  explicit ElementAccess(const Step& step) : step_(step) {}

  struct Read {
    hlo::Value leaf;
    Affine offset;
  };
  // Notes what the element of `value` at `index` needs.
  void visit(hlo::Value value, const IndexRef& index);
  // Notes that `x` is needed as a number.
  void need(const Affine& x) { needed_.push_back(x); }

  const std::vector<Read>& reads() const { return reads_; }
  const std::vector<Affine>& needed() const { return needed_; }
  // Elements computed by transcendental functions and by others: what an iteration costs.
  int cost() const { return cost_; }

 private:
  void define_quotient(Var, const Affine& x, int64_t) override { need(x); }
  void define_remainder(Var, const Affine& x, int64_t) override { need(x); }
  void define_element(Var, hlo::Value value, const IndexRef& index, int64_t) override {
    visit(value, index);
  }
  void define_clamp(Var, const Affine& x, int64_t) override { need(x); }

  const Step& step_;
  std::vector<Read> reads_;
  std::vector<Affine> needed_;
  std::set<std::tuple<const hlo::Instruction*, int, const Index*>> seen_;
  std::vector<IndexRef> kept_;  // so that no two live at one address
  int cost_ = 0;
};

// The step computes result `result` from operand `operand` such that every element of the operand
// is read for the last time when the result's element at the same place is written: both can have
// the same memory.
bool can_update_in_place(const hlo::Instruction& step, int operand, int result);

}  // namespace systole::cpu
