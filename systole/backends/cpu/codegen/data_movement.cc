#include <algorithm>

#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

namespace {

// result[place(i)] = value[i] for every index i of `shape`, where `place` may use the index space.
using Place = std::function<IndexRef(IndexSpace&, const IndexRef&)>;
void emit_copy_to(FunctionEmitter& f, const Step& step, const Value& value, const Place& place) {
  const std::vector<Slice> written = result_slices(f, step.instruction());
  emit_loop_over(f, {.step = step,
                     .shape = value.shape(),
                     .written = written,
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           access.visit(value, index);
                           access.need(place(access, index)->offset());
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           llvm::Value* x = e.element(value, index);
                           e.f.store(written[0], value.dtype(), e.number(place(e, index)->offset()),
                                     x);
                         }});
}

}  // namespace

void emit_concatenate(FunctionEmitter& f, const Instruction& x) {
  const Step step(x);
  const auto axis = static_cast<size_t>(x.attrs<hlo::ConcatenateAttrs>().dimension);
  int64_t offset = 0;
  for (const Value& operand : x.operands()) {
    emit_copy_to(f, step, operand, [&](IndexSpace& space, const IndexRef& index) {
      std::vector<Affine> at = index->at(space);
      at[axis] += offset;
      return make_index(x.shape(), std::move(at));
    });
    offset += operand.shape()[static_cast<int>(axis)];
  }
}

void emit_pad(FunctionEmitter& f, const Instruction& x) {
  const Step step(x);
  const auto& attrs = x.attrs<hlo::PadAttrs>();
  const std::vector<Slice> written = result_slices(f, x);
  emit_loop_over(f, {.step = step,
                     .shape = x.shape(),
                     .written = written,
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           access.visit(x.operand(1), scalar_index());
                           access.need(index->offset());
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           e.f.store(written[0], x.dtype(), e.number(index->offset()),
                                     e.element(x.operand(1), scalar_index()));
                         }});
  // What negative padding leaves of the operand.
  const Shape& from = x.operand(0).shape();
  Dims first;
  Dims sizes;
  for (int d = 0; d < from.rank(); ++d) {
    const auto u = static_cast<size_t>(d);
    const int64_t step_size = attrs.interior_padding[u] + 1;
    const int64_t low = attrs.edge_padding_low[u];
    const int64_t begin = low >= 0 ? 0 : (-low + step_size - 1) / step_size;
    const int64_t room =
        x.shape()[d] - low;  // places of the result from the operand's first element on
    const int64_t end = room <= 0 ? 0 : std::min(from[d], (room + step_size - 1) / step_size);
    if (begin >= end) return;
    first.push_back(begin);
    sizes.push_back(end - begin);
  }
  const auto shifted = [&](IndexSpace& space, const IndexRef& index) {
    std::vector<Affine> at = index->at(space);
    for (size_t d = 0; d < at.size(); ++d) at[d] += first[d];
    return at;
  };
  const auto place = [&](IndexSpace& space, const IndexRef& index) {
    std::vector<Affine> at = shifted(space, index);
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] = at[d] * (attrs.interior_padding[d] + 1) + attrs.edge_padding_low[d];
    }
    return make_index(x.shape(), std::move(at));
  };
  emit_loop_over(
      f, {.step = step,
          .shape = Shape(sizes),
          .written = written,
          .visit =
              [&](ElementAccess& access, const IndexRef& index) {
                access.visit(x.operand(0), make_index(from, shifted(access, index)));
                access.need(place(access, index)->offset());
              },
          .store =
              [&](Elements& e, const IndexRef& index) {
                llvm::Value* value = e.element(x.operand(0), make_index(from, shifted(e, index)));
                e.f.store(written[0], x.dtype(), e.number(place(e, index)->offset()), value);
              }});
}

void emit_dynamic_update_slice(FunctionEmitter& f, const Instruction& x) {
  const Step step(x);
  const Value update = x.operand(1);
  f.copy({f.slice(x.operand(0)), result_slices(f, x)[0]});
  emit_copy_to(f, step, update, [&](IndexSpace& space, const IndexRef& index) {
    std::vector<Affine> at = index->at(space);
    for (int d = 0; d < x.shape().rank(); ++d) {
      const int64_t last = x.shape()[d] - update.shape()[d];
      at[static_cast<size_t>(d)] += space.element(x.operand(2 + d), scalar_index(), last);
    }
    return make_index(x.shape(), std::move(at));
  });
}

}  // namespace systole::cpu
