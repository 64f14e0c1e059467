// Maps the index of a result element to the indices of the operand elements that it depends on.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "systole/backends/cpu/analysis/affine.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

class IndexSpace;

// The position of an array element: its row-major offset and its multi-index, which is computed
// from the offset on demand. Instructions that keep the index share the object, so that results can
// be cached by its address.
class Index {
 public:
  Index(Shape shape, std::vector<Affine> at);
  Index(Shape shape, Affine offset) : shape_(std::move(shape)), offset_(std::move(offset)) {}

  const Shape& shape() const { return shape_; }
  const Affine& offset() const { return offset_; }
  // Divisions become variables of `space`.
  const std::vector<Affine>& at(IndexSpace& space) const;

 private:
  Shape shape_;
  Affine offset_;
  mutable std::optional<std::vector<Affine>> at_;
};
using IndexRef = std::shared_ptr<const Index>;

// The variables of one loop nest: loop variables and computed ones. Subclasses define the meaning
// of a computed variable: an analysis records it, a code generator emits it.
class IndexSpace {
 public:
  virtual ~IndexSpace() = default;

  // Adds a loop variable: 0 <= value < size.
  Var add_variable(int64_t size);
  int64_t size(Var var) const { return sizes_[var]; }
  int num_variables() const { return static_cast<int>(sizes_.size()); }
  // Returns the least and the greatest value.
  std::pair<int64_t, int64_t> range(const Affine& x) const;

  // Returns x / divisor and x % divisor, simplified where the variables' ranges allow it. REQUIRES:
  // x >= 0.
  std::pair<Affine, Affine> divide(const Affine& x, int64_t divisor);
  // Returns the integer element of `value` at `index`, clamped to [0, last].
  Affine element(hlo::Value value, const IndexRef& index, int64_t last);
  // Returns x clamped to [0, last].
  Affine clamp(const Affine& x, int64_t last);

 protected:
  // Define `result`, a new variable.
  virtual void define_quotient(Var result, const Affine& x, int64_t divisor) = 0;
  virtual void define_remainder(Var result, const Affine& x, int64_t divisor) = 0;
  virtual void define_element(Var result, hlo::Value value, const IndexRef& index,
                              int64_t last) = 0;
  virtual void define_clamp(Var result, const Affine& x, int64_t last) = 0;

 private:
  std::vector<int64_t> sizes_;
};

// Returns the index of the element at these coordinates.
IndexRef make_index(Shape shape, std::vector<Affine> at);
IndexRef scalar_index();

// Returns the index in `operand` of the element that the result element at `index` is computed
// from. The instruction is elementwise, a bitcast, indexed or a gather. Errors: INTERNAL for other
// opcodes.
IndexRef operand_index(IndexSpace& space, const hlo::Instruction& instruction, int operand,
                       const IndexRef& index);
// Returns whether operand_index() supports the opcode.
bool has_operand_index(const hlo::Instruction& instruction);

}  // namespace systole::cpu
