#include <algorithm>

#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Value;

bool has(const Dims& dims, int64_t d) { return std::ranges::find(dims, d) != dims.end(); }

// The elements of the operand that code may write: along one axis those from `begin` to `end`.
struct Range {
  int64_t axis = -1;  // -1: all
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
};

// The target of the update windows. Index components are read unchanged; windows out of bounds are
// skipped.
class ScatterTarget {
 public:
  explicit ScatterTarget(const Instruction& x)
      : x_(x), attrs_(x.attrs<hlo::ScatterAttrs>()), shape_(x.operand(0).shape()) {
    window_axis_.assign(u(shape_.rank()), -1);
    size_t next = 0;
    for (int64_t d = 0; d < shape_.rank(); ++d) {
      if (has(attrs_.inserted_window_dims, d) || has(attrs_.input_batching_dims, d)) continue;
      window_axis_[u(d)] = attrs_.update_window_dims[next++];
    }
  }

  Value indices() const { return x_.operand(x_.num_results()); }
  const Shape& updates() const { return x_.operand(x_.num_results() + 1).shape(); }
  bool in_window(int64_t update_axis) const { return has(attrs_.update_window_dims, update_axis); }

  // Returns the longest axis along which every window has one element at an index from the indices,
  // so that updates to different parts of it are independent. Returns -1 if no axis qualifies.
  int64_t dividing_axis() const {
    int64_t result = -1;
    for (const int64_t d : attrs_.scatter_dims_to_operand_dims) {
      if (window_axis_[u(d)] >= 0) continue;
      if (result < 0 || size(d) > size(result)) result = d;
    }
    return result;
  }

  void visit(ElementAccess& access, const std::vector<Affine>& update) const {
    for (size_t k = 0; k < attrs_.scatter_dims_to_operand_dims.size(); ++k)
      access.visit(indices(), component(update, static_cast<int64_t>(k)));
    for (const Affine& coordinate : update) access.need(coordinate);
  }

  // Emits the start of the window that the element at these coordinates of the updates belongs to:
  // sets offset_ and starts_. Returns an i1: whether the start is in range along the axes that have
  // no window, without which nothing of the window is written.
  llvm::Value* start(Elements& e, const std::vector<Affine>& update, const Range& range) {
    auto& b = e.f.b;
    const Dims strides = shape_.strides();
    llvm::Value* inside = b.getTrue();
    offset_ = e.f.i64(0);
    starts_.assign(u(shape_.rank()), nullptr);
    for (int64_t d = 0; d < shape_.rank(); ++d) {
      llvm::Value* at = start_along(e, update, d);
      if (at == nullptr) continue;
      offset_ = b.CreateAdd(offset_, b.CreateMul(at, e.f.i64(strides[u(d)])));
      if (window_axis_[u(d)] >= 0) {
        starts_[u(d)] = at;
      } else if (range.axis == d) {
        // One unsigned comparison for both ends: an index before the range wraps around.
        inside = b.CreateAnd(inside, b.CreateICmpULT(b.CreateSub(at, range.begin),
                                                     b.CreateSub(range.end, range.begin)));
      } else {
        inside = b.CreateAnd(inside, b.CreateICmpULT(at, e.f.i64(size(d))));
      }
    }
    return inside;
  }

  // One element of that window: whether it lies inside, null where it always does, and its offset.
  std::pair<llvm::Value*, llvm::Value*> element(Elements& e,
                                                const std::vector<Affine>& update) const {
    auto& b = e.f.b;
    const Dims strides = shape_.strides();
    llvm::Value* inside = nullptr;
    Affine in_window;
    for (int64_t d = 0; d < shape_.rank(); ++d) {
      if (window_axis_[u(d)] < 0) continue;
      const Affine& along = update[u(window_axis_[u(d)])];
      in_window += along * strides[u(d)];
      if (starts_[u(d)] == nullptr) continue;
      llvm::Value* at = b.CreateAdd(starts_[u(d)], e.number(along));
      llvm::Value* fits = b.CreateICmpULT(at, e.f.i64(size(d)));
      inside = inside == nullptr ? fits : b.CreateAnd(inside, fits);
    }
    return {inside, b.CreateAdd(offset_, e.number(in_window))};
  }

 private:
  int64_t size(int64_t axis) const { return shape_[static_cast<int>(axis)]; }

  std::vector<Affine> batch(const std::vector<Affine>& update) const {
    std::vector<Affine> result;
    for (size_t d = 0; d < update.size(); ++d) {
      if (!in_window(static_cast<int64_t>(d))) result.push_back(update[d]);
    }
    return result;
  }

  IndexRef component(const std::vector<Affine>& update, int64_t k) const {
    std::vector<Affine> at = batch(update);
    if (attrs_.index_vector_dim < indices().shape().rank())
      at.insert(at.begin() + attrs_.index_vector_dim, Affine(k));
    return make_index(indices().shape(), std::move(at));
  }

  // Where windows start along an axis of the operand; null: at 0.
  llvm::Value* start_along(Elements& e, const std::vector<Affine>& update, int64_t d) const {
    const auto mapped = std::ranges::find(attrs_.scatter_dims_to_operand_dims, d);
    if (mapped != attrs_.scatter_dims_to_operand_dims.end()) {
      const auto k = mapped - attrs_.scatter_dims_to_operand_dims.begin();
      const bool is_signed = dtype_info(indices().dtype()).is_signed;
      return e.f.b.CreateIntCast(e.element(indices(), component(update, k)), e.f.b.getInt64Ty(),
                                 is_signed);
    }
    const auto batching = std::ranges::find(attrs_.input_batching_dims, d);
    if (batching == attrs_.input_batching_dims.end()) return nullptr;
    int64_t in_indices =
        attrs_.scatter_indices_batching_dims[u(batching - attrs_.input_batching_dims.begin())];
    if (in_indices > attrs_.index_vector_dim) --in_indices;
    return e.number(batch(update)[u(in_indices)]);
  }

  const Instruction& x_;
  const hlo::ScatterAttrs& attrs_;
  const Shape& shape_;
  std::vector<int64_t> window_axis_;  // by operand axis: the updates' axis inside windows, or -1
  llvm::Value* offset_ = nullptr;     // of the window that start() was called for
  std::vector<llvm::Value*> starts_;  // its start along axes that it extends over; null: 0
};

void combine(Elements& e, const Instruction& x, const std::vector<Slice>& written,
             const IndexRef& update, llvm::Value* offset) {
  const int inputs = x.num_results();
  std::vector<llvm::Value*> arguments;
  for (int k = 0; k < inputs; ++k)
    arguments.push_back(e.f.load(const_cast<Instruction&>(x).result(k), offset));
  for (int k = 0; k < inputs; ++k) {
    const Value value = x.operand(inputs + 1 + k);
    arguments.push_back(convert(e.f, value.dtype(), x.region().parameter(inputs + k).dtype(),
                                e.element(value, update)));
  }
  const std::vector<llvm::Value*> results = e.call(x.region(), arguments);
  for (size_t k = 0; k < results.size(); ++k)
    e.f.store(written[k], x.results()[k].dtype, offset, results[k]);
}

// The results start as the operands.
void emit_start(FunctionEmitter& f, const Instruction& x) {
  const Thunk thunk(x);
  const std::vector<Slice> written = f.result_slices(x);
  for (int k = 0; k < x.num_results(); ++k) {
    const Slice& to = written[u(k)];
    const DType dtype = x.results()[u(k)].dtype;
    if (x.operand(k).dtype() == dtype) {
      f.copy({f.slice(x.operand(k)), to});
      continue;
    }
    emit_loop_over(f, {.thunk = thunk,
                       .shape = x.operand(k).shape(),
                       .written = written,
                       .visit = [&](ElementAccess& access,
                                    const IndexRef& index) { access.visit(x.operand(k), index); },
                       .store =
                           [&](Elements& e, const IndexRef& index) {
                             llvm::Value* value = convert(e.f, x.operand(k).dtype(), dtype,
                                                          e.element(x.operand(k), index));
                             e.f.store(to, dtype, e.number(index->offset()), value);
                           }});
  }
}

// The loops over the windows, and those over the elements of one.
struct ScatterNest {
  std::vector<Affine> update;  // coordinates
  std::vector<Loop> windows;
  std::vector<Loop> elements;
};

ScatterNest nest_of(const Thunk& thunk, const ScatterTarget& target) {
  ElementAccess access(thunk);
  const Shape& updates = target.updates();
  const std::vector<Var> variables = add_variables(access, updates.dims());
  ScatterNest nest{.update = coordinates(variables)};
  target.visit(access, nest.update);
  access.need(make_index(updates, nest.update)->offset());
  std::vector<Var> outside;
  std::vector<Var> inside;
  for (size_t d = 0; d < variables.size(); ++d)
    (target.in_window(static_cast<int64_t>(d)) ? inside : outside).push_back(variables[d]);
  nest.windows = merge_loops(access, outside, access.needed());
  // Coordinates stay apart: the operand's strides are others than the updates'.
  for (const Var var : inside) {
    if (access.size(var) > 1) nest.elements.push_back({{var}, access.size(var)});
  }
  return nest;
}

// All updates, in their order, as far as they go into the range.
void emit_updates(FunctionEmitter& f, const Thunk& thunk, const ScatterNest& nest,
                  const Range& range) {
  const Instruction& x = thunk.instruction();
  const std::vector<Slice> written = f.result_slices(x);
  ScatterTarget target(x);
  Elements e(f, thunk);
  for (const Var var : add_variables(e, target.updates().dims())) e.bind(var, nullptr);
  f.begin_kernel(written);
  emit_loops(e, nest.windows, nullptr, nullptr, false, [&] {
    f.if_then(target.start(e, nest.update, range), [&] {
      emit_loops(e, nest.elements, nullptr, nullptr, true, [&] {
        const auto [inside, offset] = target.element(e, nest.update);
        const IndexRef update = make_index(target.updates(), nest.update);
        const auto body = [&, at = offset] { combine(e, x, written, update, at); };
        inside == nullptr ? body() : f.if_then(inside, body);
      });
    });
  });
}

}  // namespace

// In order of the updates: what they do to the same element may depend on it. Threads share the
// work by where it goes: each looks at all updates and takes those for its part of the operand, so
// that none waits for another and the result is the same for any number of threads.
void emit_scatter(FunctionEmitter& f, const Instruction& x) {
  emit_start(f, x);
  const ScatterTarget target(x);
  if (target.updates().num_elements() == 0) return;
  const Thunk thunk(x);
  const ScatterNest nest = nest_of(thunk, target);
  const int64_t axis = target.dividing_axis();
  const auto elements = static_cast<double>(iterations(nest.elements));
  const auto windows = static_cast<double>(iterations(nest.windows));
  // To look at a window and leave it costs about as much as an element of one.
  constexpr double kElementWork = 0.5;
  const int64_t parts = f.program.num_threads;
  const bool pays = axis >= 0 && elements >= 4;
  emit_parallel(f, parts, pays ? kElementWork * elements * windows : 0,
                [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                  Range range;
                  if (begin != nullptr) {
                    const int64_t size = x.operand(0).shape()[static_cast<int>(axis)];
                    const auto bound = [&](llvm::Value* part) {
                      return g.b.CreateUDiv(g.b.CreateMul(part, g.i64(size)), g.i64(parts));
                    };
                    range = {axis, bound(begin), bound(end)};
                  }
                  emit_updates(g, thunk, nest, range);
                });
}

}  // namespace systole::cpu
