#include "systole/backends/cpu/analysis/element_access.h"

#include <algorithm>

#include "systole/backends/cpu/analysis/attention_fusion.h"
#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/analysis/row_access.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

namespace {

// Little-endian parts of a wider element, or the wider element that a part is in.
std::vector<ElementSource> bitcast_sources(IndexSpace& space, const Instruction& x,
                                           const IndexRef& index) {
  const Shape& from = x.operand(0).shape();
  if (from == x.shape()) return {{x.operand(0), index}};
  std::vector<Affine> at = index->at(space);
  if (from.rank() < x.shape().rank()) {
    at.pop_back();
    return {{x.operand(0), make_index(from, std::move(at))}};
  }
  std::vector<ElementSource> parts;
  at.emplace_back();
  for (int64_t k = 0; k < from[from.rank() - 1]; ++k) {
    at.back() = k;
    parts.push_back({x.operand(0), make_index(from, at)});
  }
  return parts;
}

}  // namespace

bool computes_elements(const Instruction& x) {
  return has_operand_index(x) || x.is(Opcode::iota) || x.is(Opcode::constant) ||
         x.is(Opcode::bitcast_convert);
}

std::vector<ElementSource> element_sources(IndexSpace& space, const Instruction& x,
                                           const IndexRef& index) {
  if (x.is(Opcode::bitcast_convert)) return bitcast_sources(space, x, index);
  if (x.is(Opcode::iota) || x.is(Opcode::constant)) return {};
  const int count = x.traits().has(hlo::kElementwise) ? x.num_operands() : 1;
  std::vector<ElementSource> sources;
  for (int i = 0; i < count; ++i)
    sources.push_back({x.operand(i), operand_index(space, x, i, index)});
  return sources;
}

std::vector<Value> Thunk::roots() const {
  if (is_fusion()) {
    const auto results = instruction_->region().results();
    return {results.begin(), results.end()};
  }
  std::vector<Value> results;
  for (int i = 0; i < instruction_->num_results(); ++i) {
    results.push_back(const_cast<Instruction*>(instruction_)->result(i));
  }
  return results;
}

std::optional<Value> Thunk::leaf(Value value) const {
  if (!is_fusion()) {
    if (value.def == instruction_) return std::nullopt;
    return value;
  }
  if (&value.def->parent() != &instruction_->region()) return value;
  if (!value.def->is(Opcode::parameter)) return std::nullopt;
  return instruction_->operand(value.def->attrs<hlo::ParameterAttrs>().index);
}

namespace {

// The part of an array that a root computes: all of it, or what it updates.
Value computed_part(const Thunk& thunk, Value root) {
  if (!thunk.is_fusion() || !root.def->is(Opcode::dynamic_update_slice)) return root;
  Value part = root.def->operand(1);
  while (part.def->is(Opcode::reshape)) part = part.def->operand(0);
  return part.def->is(Opcode::concatenate) ? part : root.def->operand(1);
}

// The offset of the first element that the root writes.
Affine first_written(IndexSpace& space, const Thunk& thunk, const Value& root) {
  const Instruction& x = *root.def;
  if (!thunk.is_fusion() || !x.is(Opcode::dynamic_update_slice)) return 0;
  std::vector<Affine> at;
  for (int d = 0; d < x.shape().rank(); ++d) {
    at.push_back(
        space.element(x.operand(2 + d), scalar_index(), x.shape()[d] - x.operand(1).shape()[d]));
  }
  return make_index(x.shape(), std::move(at))->offset();
}

// Elements between neighbours along each axis, and of the whole array: 1 first.
std::set<int64_t> steps_of(const Shape& shape) {
  std::set<int64_t> steps = {1, shape.num_elements()};
  for (const int64_t step : shape.strides()) steps.insert(step);
  return steps;
}

// Splits the axes of a loop at those of the thunk's reshapes, so that no index takes a division.
// Returns the shape as it is if none takes one anyway.
Shape split_axes(const Shape& shape, const Thunk& thunk) {
  if (!thunk.is_fusion() || shape.num_elements() == 0) return shape;
  std::set<int64_t> steps = steps_of(shape);
  const size_t axes = steps.size();
  const auto add = [&](const Shape& other) {
    std::set<int64_t> all = steps_of(other);
    all.insert(steps.begin(), steps.end());
    const auto divides = [](int64_t a, int64_t b) { return b % a != 0; };
    if (std::ranges::adjacent_find(all, divides) == all.end()) steps = std::move(all);
  };
  for (const Instruction* x : thunk.instruction().region().instructions()) {
    if (!x->is(Opcode::reshape) || x->shape().num_elements() != shape.num_elements()) continue;
    add(x->operand(0).shape());
    add(x->shape());
  }
  if (steps.size() == axes) return shape;
  Dims dims;
  for (auto step = std::next(steps.begin()); step != steps.end(); ++step)
    dims.insert(dims.begin(), *step / *std::prev(step));
  return Shape(dims);
}

}  // namespace

Shape loop_shape(const Thunk& thunk) {
  const std::vector<Value> roots = thunk.roots();
  for (const Value& root : roots) {
    const Value part = computed_part(thunk, root);
    if (thunk.is_fusion() && part.def->is(Opcode::concatenate)) return part.def->operand(0).shape();
  }
  return split_axes(computed_part(thunk, roots[0]).shape(), thunk);
}

std::vector<ResultPart> result_parts(const Thunk& thunk) {
  const std::vector<Value> roots = thunk.roots();
  const Shape loop = loop_shape(thunk);
  // Roots of one number of elements run together, whatever their shapes. Those of one shape have
  // one index, so that what they share is computed once.
  struct Reshaped {
    Shape shape;
    IndexRef index;
    IndexRef of;
  };
  const auto known = std::make_shared<std::vector<Reshaped>>();
  const auto source_in = [loop, known](const Shape& shape) {
    return [=](const IndexRef& index) {
      if (shape == loop) return index;
      auto last = std::ranges::find(*known, shape, &Reshaped::shape);
      if (last == known->end()) last = known->insert(last, {shape, nullptr, nullptr});
      if (last->of != index)
        *last = {shape, std::make_shared<const Index>(shape, index->offset()), index};
      return last->index;
    };
  };
  std::vector<ResultPart> parts;
  for (size_t k = 0; k < roots.size(); ++k) {
    const Value root = roots[k];
    const Value part = computed_part(thunk, root);
    const auto first = [thunk, root](IndexSpace& space) {
      return first_written(space, thunk, root);
    };
    if (!thunk.is_fusion() || !part.def->is(Opcode::concatenate)) {
      parts.push_back(
          {part, k, source_in(part.shape()), [=](IndexSpace& space, const IndexRef& index) {
             return index->offset() + first(space);
           }});
      continue;
    }
    const auto axis = static_cast<size_t>(part.def->attrs<hlo::ConcatenateAttrs>().dimension);
    for (int i = 0; i < part.def->num_operands(); ++i) {
      const Value operand = part.def->operand(i);
      const auto source = source_in(operand.shape());
      const int64_t behind = i * operand.shape()[static_cast<int>(axis)];
      parts.push_back({operand, k, source, [=](IndexSpace& space, const IndexRef& index) {
                         std::vector<Affine> at = source(index)->at(space);
                         at[axis] += behind;
                         return make_index(part.shape(), std::move(at))->offset() + first(space);
                       }});
    }
  }
  return parts;
}

void ElementAccess::visit(Value value, const IndexRef& index) {
  if (!seen_.insert({value.def, value.index, index.get()}).second) return;
  kept_.push_back(index);
  if (const auto leaf = thunk_.leaf(value)) {
    reads_.push_back({*leaf, index->offset()});
    need(index->offset());
    return;
  }
  const Instruction& x = *value.def;
  cost_ += x.traits().has(hlo::kTranscendental) || x.is(Opcode::divide) ? 16 : 1;
  if (x.is(Opcode::iota)) {
    need(index->at(*this)[x.attrs<hlo::IotaAttrs>().iota_dimension]);
    return;
  }
  if (x.is(Opcode::constant)) {
    need(index->offset());
    return;
  }
  if (!computes_elements(x)) return;
  for (const ElementSource& source : element_sources(*this, x, index))
    visit(source.value, source.index);
}

bool can_update_in_place(const Instruction& instruction, int operand, int result) {
  const Value read = instruction.operand(operand);
  const TensorType& written = instruction.results()[result];
  if (read.shape().num_elements() != written.shape.num_elements() ||
      size_of(read.dtype()) != size_of(written.dtype)) {
    return false;
  }
  if (instruction.is(Opcode::dynamic_update_slice)) return operand == 0;
  if (instruction.is(Opcode::scatter) || instruction.is(Opcode::sort)) return operand == result;
  if (instruction.is(Opcode::rng_bit_generator)) return result == 0;  // the state
  const Thunk thunk(instruction);
  const std::vector<Value> roots = thunk.roots();
  // (A fusion of thunks computes some of its results from others.)
  if (is_row_fusion(instruction) || is_product_fusion(instruction) ||
      is_attention_fusion(instruction))
    return false;
  const auto of_elements = [&](const Value& root) {
    if (computes_elements(*root.def)) return true;
    return thunk.is_fusion() &&
           (root.def->is(Opcode::concatenate) || root.def->is(Opcode::dynamic_update_slice));
  };
  if (!std::ranges::all_of(roots, of_elements)) return false;
  // What an update leaves is the operand's, of which the fusion reads nothing.
  if (roots[result].def->is(Opcode::dynamic_update_slice))
    return thunk.leaf(roots[result].def->operand(0)) == read;
  // A concatenation writes an element at another index than that at which it reads the operand.
  if (!computes_elements(*roots[result].def)) return false;
  ElementAccess access(thunk);
  std::vector<Affine> at;
  for (const int64_t size : written.shape)
    at.push_back(Affine::variable(access.add_variable(size)));
  const IndexRef index = make_index(written.shape, at);
  for (const ResultPart& part : result_parts(thunk)) {
    if (part.value.shape().num_elements() != written.shape.num_elements()) return false;
    access.visit(part.value,
                 part.value.shape() == written.shape
                     ? index
                     : std::make_shared<const Index>(part.value.shape(), index->offset()));
  }
  return std::ranges::all_of(access.reads(), [&](const ElementAccess::Read& r) {
    return r.leaf != read || r.offset == index->offset();
  });
}

}  // namespace systole::cpu
