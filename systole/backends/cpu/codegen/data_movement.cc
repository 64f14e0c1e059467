#include <algorithm>

#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/jit/jit.h"
#include "systole/hlo/passes/fusion.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

namespace {

// result[place(i)] = value[i] for every index i of `shape`, where `place` may use the index space.
using Place = std::function<IndexRef(IndexSpace&, const IndexRef&)>;
void emit_copy_to(FunctionEmitter& f, const Thunk& thunk, const Value& value, const Place& place) {
  const std::vector<Slice> written = f.result_slices(thunk.instruction());
  emit_loop_over(f, {.thunk = thunk,
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
                         },
                     .target = [&](IndexSpace& space,
                                   const IndexRef& index) { return place(space, index)->offset(); },
                     .element_bytes = {size_of(value.dtype())}});
}

// What the first-level cache does not hold is copied by a kernel.
constexpr int64_t kMinKernelBytes = 16 * 1024;

// Calls the kernel that joins the operands [first, end).
void join_by_kernel(FunctionEmitter& f, const Instruction& x, int first, int end) {
  std::vector<llvm::Value*> buffers = {f.address(f.result_slices(x)[0])};
  for (int i = first; i < end; ++i) {
    const Value operand = x.operand(i);
    if (operand.shape().num_elements() > 0) buffers.push_back(f.address(f.slice(operand)));
  }
  f.call_kernel({KernelKind::join, &x, first}, buffers);
}

// Some operands at a time, each lot in a function of its own: LLVM takes longer than linear time
// for a function that works on many arrays.
void join_many(FunctionEmitter& f, const Instruction& x) {
  const int count = x.num_operands();
  for (int first = 0; first < count; first += hlo::kMaxJoined) {
    FunctionEmitter part(f.program, "concatenate");
    part.function->addFnAttr(llvm::Attribute::OptimizeNone);
    part.function->addFnAttr(llvm::Attribute::NoInline);
    join_by_kernel(part, x, first, std::min(first + hlo::kMaxJoined, count));
    part.finish();
    f.call(part.function);
  }
}

}  // namespace

void emit_concatenate(FunctionEmitter& f, const Instruction& x) {
  if (x.shape().num_elements() == 0) return;
  if (x.num_operands() > hlo::kMaxJoined && f.rows.count == 0) return join_many(f, x);
  const bool is_large = x.type().byte_size() >= kMinKernelBytes;
  if (f.program.optimize && f.rows.count == 0 && is_large)
    return join_by_kernel(f, x, 0, x.num_operands());
  const Thunk thunk(x);
  const auto axis = static_cast<size_t>(x.attrs<hlo::ConcatenateAttrs>().dimension);
  int64_t offset = 0;
  for (const Value& operand : x.operands()) {
    emit_copy_to(f, thunk, operand, [&](IndexSpace& space, const IndexRef& index) {
      std::vector<Affine> at = index->at(space);
      at[axis] += offset;
      return make_index(x.shape(), std::move(at));
    });
    offset += operand.shape()[static_cast<int>(axis)];
  }
}

namespace {

// A part of an array: `sizes` elements from `first` on, `step` apart.
struct MovedPart {
  Dims first;
  Dims sizes;
  Dims step;
};

IndexRef place_in_part(IndexSpace& space, const Shape& array, const MovedPart& part,
                       const IndexRef& index) {
  std::vector<Affine> at = index->at(space);
  for (size_t d = 0; d < at.size(); ++d) at[d] = at[d] * part.step[d] + part.first[d];
  return make_index(array, std::move(at));
}

void fill_part(FunctionEmitter& f, const Instruction& pad, const MovedPart& part) {
  const Thunk thunk(pad);
  const Slice written = f.result_slices(pad)[0];
  const auto place = [&](IndexSpace& space, const IndexRef& index) {
    return place_in_part(space, pad.shape(), part, index)->offset();
  };
  emit_loop_over(f, {.thunk = thunk,
                     .shape = Shape(part.sizes),
                     .written = {written},
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           access.visit(pad.operand(1), scalar_index());
                           access.need(place(access, index));
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           e.f.store(written, pad.dtype(), e.number(place(e, index)),
                                     e.element(pad.operand(1), scalar_index()));
                         },
                     .target = place,
                     .element_bytes = {size_of(pad.dtype())}});
}

// Fills the elements outside the part: along each axis those before and after it, within its range
// along the axes before.
void fill_around(FunctionEmitter& f, const Instruction& pad, const MovedPart& inside) {
  MovedPart part{Dims(inside.first.size(), 0), Dims(pad.shape().begin(), pad.shape().end()),
                 Dims(inside.first.size(), 1)};
  for (size_t d = 0; d < inside.first.size(); ++d) {
    const int64_t all = part.sizes[d];
    const int64_t end = inside.first[d] + inside.sizes[d];
    part.sizes[d] = inside.first[d];
    fill_part(f, pad, part);
    part.first[d] = end;
    part.sizes[d] = all - end;
    fill_part(f, pad, part);
    part.first[d] = inside.first[d];
    part.sizes[d] = inside.sizes[d];
  }
}

// Returns whether a kernel does it.
bool pad_by_kernel(FunctionEmitter& f, const Instruction& x) {
  if (!f.program.optimize || f.rows.count > 0 || x.type().byte_size() < kMinKernelBytes)
    return false;
  return f.try_kernel({KernelKind::pad, &x}, [&] {
    return std::vector{f.address(f.result_slices(x)[0]), f.address(f.slice(x.operand(0))),
                       f.address(f.slice(x.operand(1)))};
  });
}

}  // namespace

void emit_pad(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const auto& attrs = x.attrs<hlo::PadAttrs>();
  const Shape& from = x.operand(0).shape();
  const auto rank = static_cast<size_t>(from.rank());
  // What negative padding leaves of the operand, and where it goes.
  MovedPart source{Dims(rank, 0), Dims(rank, 0), Dims(rank, 1)};
  MovedPart target = source;
  bool dense = true;
  bool empty = false;
  for (size_t u = 0; u < rank; ++u) {
    const auto d = static_cast<int>(u);
    const int64_t step_size = attrs.interior_padding[u] + 1;
    const int64_t low = attrs.edge_padding_low[u];
    const int64_t begin = low >= 0 ? 0 : (-low + step_size - 1) / step_size;
    const int64_t room =
        x.shape()[d] - low;  // places of the result from the operand's first element on
    const int64_t end = room <= 0 ? 0 : std::min(from[d], (room + step_size - 1) / step_size);
    source.first[u] = begin;
    source.sizes[u] = target.sizes[u] = end - begin;
    target.first[u] = begin * step_size + low;
    target.step[u] = step_size;
    dense = dense && step_size == 1;
    empty = empty || begin >= end;
  }
  if (pad_by_kernel(f, x)) return;
  // Elements between those of the operand cannot be reached by whole ranges: then all are filled,
  // and some written twice.
  if (!dense || empty) {
    fill_part(f, x, {Dims(rank, 0), Dims(x.shape().begin(), x.shape().end()), Dims(rank, 1)});
  } else {
    fill_around(f, x, target);
  }
  if (empty) return;
  const auto read = [&](IndexSpace& space, const IndexRef& index) {
    return place_in_part(space, from, source, index);
  };
  const auto place = [&](IndexSpace& space, const IndexRef& index) {
    return place_in_part(space, x.shape(), target, index)->offset();
  };
  const Slice written = f.result_slices(x)[0];
  emit_loop_over(f, {.thunk = thunk,
                     .shape = Shape(source.sizes),
                     .written = {written},
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           access.visit(x.operand(0), read(access, index));
                           access.need(place(access, index));
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           llvm::Value* value = e.element(x.operand(0), read(e, index));
                           e.f.store(written, x.dtype(), e.number(place(e, index)), value);
                         },
                     .target = place,
                     .element_bytes = {size_of(x.dtype())}});
}

void emit_transpose(FunctionEmitter& f, const Instruction& x) {
  if (f.program.optimize && f.rows.count == 0 && f.try_kernel({KernelKind::transpose, &x}, [&] {
        return std::vector{f.address(f.slice(x.operand(0))), f.address(f.result_slices(x)[0])};
      }))
    return;
  emit_element_loop(f, x);
}

void emit_dynamic_update_slice(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const Value update = x.operand(1);
  f.copy({f.slice(x.operand(0)), f.result_slices(x)[0]});
  emit_copy_to(f, thunk, update, [&](IndexSpace& space, const IndexRef& index) {
    std::vector<Affine> at = index->at(space);
    for (int d = 0; d < x.shape().rank(); ++d) {
      const int64_t last = x.shape()[d] - update.shape()[d];
      at[d] += space.element(x.operand(2 + d), scalar_index(), last);
    }
    return make_index(x.shape(), std::move(at));
  });
}

}  // namespace systole::cpu
