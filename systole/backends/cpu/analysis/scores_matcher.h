// Follows the scores of an attention, in HLO, from their softmax to their operands.
#pragma once

#include <optional>
#include <vector>

#include "systole/backends/cpu/kernels/attention.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns whether it is a dot_general of f32 arrays that is computed in f32.
bool is_f32_product(const hlo::Instruction& instruction);

// Returns the matrices of an array of this shape whose axes have these steps, in elements: rows
// along the second last axis, columns along the last.
MatrixArray matrices_of(const Shape& shape, const Dims& steps);

// Returns the matrices of a product's right operand, each repeated `times` times; nullopt if the
// axes of rows or columns do not merge into one.
std::optional<MatrixArray> rhs_matrices(const hlo::Instruction& product, const Dims& batch,
                                        const Dims& rows, const Dims& columns, int64_t times);

// Returns whether each row of the broadcast's result, along the last axis, repeats one element of
// its operand, in the order of the rows.
bool repeats_along_rows(const hlo::Instruction& broadcast);

// Matches one attention. Functions add the instructions that they pass to `inside`. Call
// find_scores(), find_product() and set_steps() in this order; each returns whether it matched.
class ScoresMatcher {
 public:
  // The value below any reshapes.
  hlo::Value without_reshapes(hlo::Value value);
  // Returns the array whose rows, along the last axis, are reduced to the number that every element
  // of the same row of `value` is; a value without a definition if there is no such reduction, or
  // if rows have another size than those of earlier calls.
  hlo::Value reduced_rows(const hlo::Value& value, hlo::Opcode opcode);

  // Sets `exponential` and `scores` from the quotient of exponentials and their sums.
  bool find_scores(const hlo::Value& weights);
  // Sets `product` and the steps, then queries, keys, q and k.
  bool find_product();
  // Sets the attention's steps. The inputs so far come before those of the steps.
  bool set_steps();

  Attention attention;
  std::vector<hlo::Value> inputs;  // the kernel's first buffers
  std::vector<const hlo::Instruction*> inside;
  hlo::Value exponential, scores;
  int64_t row_size = 0;  // elements of a row of the softmax; 0 before the first reduced_rows()
  const hlo::Instruction* product = nullptr;
  std::vector<const hlo::Instruction*> steps;  // the last one first

 private:
  bool set_queries_and_keys();
  bool add_step(const hlo::Instruction& x);
  bool add_mask(const hlo::Instruction& x);
  bool add_array(ScoreStep step, const hlo::Value& value);
};

}  // namespace systole::cpu
