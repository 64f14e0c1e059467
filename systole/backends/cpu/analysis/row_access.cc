#include "systole/backends/cpu/analysis/row_access.h"

#include <algorithm>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/analysis/window_access.h"
#include "systole/backends/cpu/kernels/row_dot.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

namespace {

// Returns the reduction that defines the thunk's loops, or null.
const Instruction* reduction_of(const Thunk& thunk) {
  for (const Value& root : thunk.roots()) {
    if (root.def->is(Opcode::reduce)) return root.def;
  }
  return nullptr;
}

// Returns the number of leading axes whose sizes multiply to `rows`.
std::optional<int> row_axes(const Shape& shape, int64_t rows) {
  int64_t product = 1;
  for (int axes = 0; axes <= shape.rank(); ++axes) {
    if (product == rows) return axes;
    if (axes < shape.rank()) product *= shape[axes];
  }
  return std::nullopt;
}

bool reduces_behind(const Instruction& reduction, int axes) {
  const Shape& shape = reduction.operand(0).shape();
  return std::ranges::all_of(reduction.attrs<hlo::DimensionsAttrs>().dimensions, [&](int64_t d) {
    return d >= axes || shape[static_cast<int>(d)] == 1;
  });
}

// Returns whether the read stays in the row given by the first `axes` variables.
bool stays_in_row(const IndexSpace& space, const Shape& loop, int axes, int64_t rows,
                  const ElementAccess::Read& read) {
  const int64_t elements = read.leaf.shape().num_elements();
  if (elements % rows != 0) return false;
  int64_t step = elements / rows;
  Affine rest = read.offset;
  for (int d = axes - 1; d >= 0; --d) {
    rest += Affine::variable(d, -step);
    step *= loop[d];
  }
  const auto [low, high] = space.range(rest);
  return low >= 0 && high < elements / rows;
}

// Rows are contiguous and consist of whole blocks of 16 bytes.
std::optional<int64_t> rows_of_bits(const Instruction& rng) {
  const TensorType& bits = rng.results()[1];
  const auto algorithm = rng.attrs<hlo::RngBitGeneratorAttrs>().rng_algorithm;
  if (algorithm == hlo::RngAlgorithm::three_fry || bits.shape.num_elements() == 0) return {};
  const int64_t columns = bits.shape.rank() == 0 ? 1 : bits.shape[bits.shape.rank() - 1];
  const int64_t per_block = size_of(bits.dtype) == 8 ? 2 : 4;
  if (columns % per_block != 0) return {};
  return bits.shape.num_elements() / columns;
}

// The number of rows along the leading axes whose windows have size 1.
std::optional<int64_t> rows_of_windows(const Instruction& x) {
  if (!windows_tile(x) || x.shape().num_elements() == 0) return {};
  const Dims& window = x.attrs<hlo::WindowAttrs>().window_dimensions;
  int64_t rows = 1;
  for (int d = 0; d < x.shape().rank() && window[d] == 1; ++d) rows *= x.shape()[d];
  return rows;
}

}  // namespace

std::optional<int64_t> rows_of_thunk(const Instruction& instruction) {
  if (instruction.is(Opcode::rng_bit_generator)) return rows_of_bits(instruction);
  if (instruction.is(Opcode::select_and_scatter)) return rows_of_windows(instruction);
  if (instruction.is(Opcode::dot_general)) {
    const auto dot = row_dot(instruction);
    return dot ? std::optional(dot->rows) : std::nullopt;
  }
  const Thunk thunk(instruction);
  if (!instruction.is(Opcode::reduce) && !thunk.is_fusion()) return std::nullopt;
  const Instruction* reduction = reduction_of(thunk);
  if (reduction == nullptr) return std::nullopt;
  const Shape& shape = reduction->operand(0).shape();
  int64_t rows = 1;
  for (int d = 0; d < shape.rank() && reduces_behind(*reduction, d + 1); ++d) rows *= shape[d];
  return rows;
}

bool has_identity(const Instruction& reduction) {
  return hlo::match_reducer(reduction.region()) && reduction.num_results() == 1 &&
         !is_complex(reduction.dtype());
}

bool gathers_rows(const Instruction& instruction, int64_t rows) {
  if (instruction.is(Opcode::rng_bit_generator)) return true;
  const Thunk thunk(instruction);
  if (!instruction.is(Opcode::reduce) && !thunk.is_fusion()) return false;
  const Instruction* reduction = reduction_of(thunk);
  if (reduction == nullptr) return false;
  const Shape& shape = reduction->operand(0).shape();
  const auto axes = row_axes(shape, rows);
  const Dims& removed = reduction->attrs<hlo::DimensionsAttrs>().dimensions;
  for (int d = 0; axes && d < *axes; ++d) {
    if (shape[d] != 1 && std::ranges::find(removed, d) == removed.end()) return false;
  }
  return axes && std::ranges::all_of(thunk.roots(), [](const Value& root) {
           return !root.def->is(Opcode::reduce) || has_identity(*root.def);
         });
}

bool is_gathered(Value value, int64_t rows) {
  if (value.def->is(Opcode::rng_bit_generator)) return value.index == 0;
  const Value root = Thunk(*value.def).roots()[value.index];
  return root.def->is(Opcode::reduce) && gathers_rows(*value.def, rows);
}

bool works_by_rows(const Instruction& instruction, int64_t rows,
                   const std::function<bool(Value)>& inside) {
  if (instruction.is(Opcode::rng_bit_generator))
    return rows_of_thunk(instruction) == rows && !inside(instruction.operand(0));
  // (Both arrays have the result's leading axes.)
  if (instruction.is(Opcode::select_and_scatter)) {
    const auto has_rows = [&](Value array) { return !inside(array) || !is_gathered(array, rows); };
    return rows_of_thunk(instruction) == rows && !inside(instruction.operand(2)) &&
           has_rows(instruction.operand(0)) && has_rows(instruction.operand(1));
  }
  if (instruction.is(Opcode::dot_general)) {
    const auto dot = row_dot(instruction);
    const Value lhs = instruction.operand(0);
    return dot && dot->rows == rows && !inside(instruction.operand(1)) &&
           (!inside(lhs) || (dot->lhs_in_rows && !is_gathered(lhs, rows)));
  }
  const Thunk thunk(instruction);
  const std::vector<Value> roots = thunk.roots();
  const Instruction* reduction = reduction_of(thunk);
  const Shape& loop = reduction != nullptr ? reduction->operand(0).shape() : roots[0].shape();
  const auto axes = row_axes(loop, rows);
  if (!axes || loop.num_elements() == 0) return false;
  const bool gathers = gathers_rows(instruction, rows);
  ElementAccess access(thunk);
  std::vector<Affine> at;
  for (const int64_t size : loop) at.push_back(Affine::variable(access.add_variable(size)));
  const IndexRef index = make_index(loop, at);
  for (const Value& root : roots) {
    if (!root.def->is(Opcode::reduce)) {
      if (!computes_elements(*root.def)) return false;
      if (root.shape().num_elements() != loop.num_elements()) return false;
      access.visit(root, root.shape() == loop
                             ? index
                             : std::make_shared<const Index>(root.shape(), index->offset()));
      continue;
    }
    if (!gathers && !reduces_behind(*root.def, *axes)) return false;
    const int count = root.def->num_results();
    for (int k = 0; k < count; ++k) {
      access.visit(root.def->operand(k), index);
      access.visit(root.def->operand(count + k), scalar_index());
    }
  }
  return std::ranges::all_of(access.reads(), [&](const ElementAccess::Read& read) {
    if (!inside(read.leaf)) return true;
    return !is_gathered(read.leaf, rows) && stays_in_row(access, loop, *axes, rows, read);
  });
}

bool is_used(Value value) {
  return std::ranges::any_of(value.def->users(), [&](const Instruction* user) {
    const auto operands = user->operands();
    return std::ranges::find(operands, value) != operands.end();
  });
}

bool is_row_fusion(const Instruction& x) {
  if (!x.is(Opcode::fusion) || is_product_fusion(x) || is_attention_fusion(x)) return false;
  for (const Instruction* thunk : x.region().instructions()) {
    if (thunk->is(Opcode::fusion) || thunk->is(Opcode::rng_bit_generator) ||
        thunk->is(Opcode::select_and_scatter) || thunk->is(Opcode::dot_general))
      return true;
    if (!thunk->is(Opcode::reduce)) continue;
    const auto users = thunk->users();
    if (std::ranges::any_of(
            users, [&](const Instruction* user) { return user != x.region().terminator(); }))
      return true;
  }
  return false;
}

int64_t rows_of_fusion(const Instruction& fusion) {
  for (const Instruction* thunk : fusion.region().instructions()) {
    if (const auto rows = rows_of_thunk(*thunk)) return *rows;
  }
  return 1;
}

}  // namespace systole::cpu
