// From the index of a result's element to the indices of the operands' elements that it is made of.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "systole/backends/cpu/analysis/affine.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

class IndexSpace;

// The place of one element of an array: its row-major offset, and its multi-index, which is worked
// out from the offset when someone asks for it. Shared between all instructions that keep the
// index, whose results can so be remembered by it.
class Index {
 public:
  Index(Shape shape, std::vector<Affine> at);
  Index(Shape shape, Affine offset) : shape_(std::move(shape)), offset_(std::move(offset)) {}

  const Shape& shape() const { return shape_; }
  const Affine& offset() const { return offset_; }
  // May need divisions, which become variables of `space`.
  const std::vector<Affine>& at(IndexSpace& space) const;

 private:
  Shape shape_;
  Affine offset_;
  mutable std::optional<std::vector<Affine>> at_;
};
using IndexRef = std::shared_ptr<const Index>;

// The variables of one loop nest: those of its loops and those computed inside it. What it means to
// compute one is up to the user of the space: an analysis takes note, a code generator emits it.
class IndexSpace {
 public:
  virtual ~IndexSpace() = default;

  // A loop variable: 0 <= value < size.
  Var add_variable(int64_t size);
  int64_t size(Var var) const { return sizes_[static_cast<size_t>(var)]; }
  int num_variables() const { return static_cast<int>(sizes_.size()); }
  // The least and the greatest value.
  std::pair<int64_t, int64_t> range(const Affine& x) const;

  // x / divisor and x % divisor. Simplified where the ranges of the variables allow it. REQUIRES: x
  // >= 0.
  std::pair<Affine, Affine> divide(const Affine& x, int64_t divisor);
  // The element of `value` at `index`, an integer, moved into [0, last].
  Affine element(hlo::Value value, const IndexRef& index, int64_t last);
  // x, moved into [0, last].
  Affine clamp(const Affine& x, int64_t last);

 protected:
  // Give a meaning to `result`, a variable that was just made.
  virtual void define_quotient(Var result, const Affine& x, int64_t divisor) = 0;
  virtual void define_remainder(Var result, const Affine& x, int64_t divisor) = 0;
  virtual void define_element(Var result, hlo::Value value, const IndexRef& index,
                              int64_t last) = 0;
  virtual void define_clamp(Var result, const Affine& x, int64_t last) = 0;

 private:
  std::vector<int64_t> sizes_;
};

// The index of `shape`'s element at these coordinates.
IndexRef make_index(Shape shape, std::vector<Affine> at);
IndexRef scalar_index();

// Where result element `index` of an instruction that copies elements (its traits are elementwise,
// bitcast or indexed, or it is a gather) finds its element of operand `operand`; for a concatenate,
// pad or leaf see their own code. Errors: INTERNAL for opcodes that are none of these.
IndexRef operand_index(IndexSpace& space, const hlo::Instruction& instruction, int operand,
                       const IndexRef& index);
// operand_index knows the opcode.
bool has_operand_index(const hlo::Instruction& instruction);

}  // namespace systole::cpu
