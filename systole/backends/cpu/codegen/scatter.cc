#include <algorithm>

#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Value;

bool has(const Dims& dims, int64_t d) { return std::ranges::find(dims, d) != dims.end(); }

// Where one element of the updates goes. Index components are read as they are: what lies outside
// is left out.
class ScatterTarget {
 public:
  ScatterTarget(const Instruction& x, const std::vector<Affine>& update)
      : x_(x), attrs_(x.attrs<hlo::ScatterAttrs>()) {
    for (size_t d = 0; d < update.size(); ++d) {
      if (!has(attrs_.update_window_dims, static_cast<int64_t>(d))) batch_.push_back(update[d]);
    }
    inside_.resize(static_cast<size_t>(x.operand(0).shape().rank()));
    size_t next = 0;
    for (size_t d = 0; d < inside_.size(); ++d) {
      const auto axis = static_cast<int64_t>(d);
      if (has(attrs_.inserted_window_dims, axis) || has(attrs_.input_batching_dims, axis)) continue;
      inside_[d] = update[static_cast<size_t>(attrs_.update_window_dims[next++])];
    }
    for (size_t k = 0; k < attrs_.input_batching_dims.size(); ++k) {
      int64_t in_indices = attrs_.scatter_indices_batching_dims[k];
      if (in_indices > attrs_.index_vector_dim) --in_indices;
      inside_[static_cast<size_t>(attrs_.input_batching_dims[k])] =
          batch_[static_cast<size_t>(in_indices)];
    }
  }

  IndexRef component(int64_t k) const {
    const Shape& indices = x_.operand(x_.num_operands() / 2).shape();
    std::vector<Affine> at = batch_;
    if (attrs_.index_vector_dim < indices.rank())
      at.insert(at.begin() + attrs_.index_vector_dim, Affine(k));
    return make_index(indices, std::move(at));
  }

  void visit(ElementAccess& access) const {
    const Value indices = x_.operand(x_.num_operands() / 2);
    for (size_t k = 0; k < attrs_.scatter_dims_to_operand_dims.size(); ++k) {
      access.visit(indices, component(static_cast<int64_t>(k)));
    }
    for (const Affine& x : inside_) access.need(x);
  }

  // {inside, offset}
  std::pair<llvm::Value*, llvm::Value*> emit(Elements& e) const {
    const Value indices = x_.operand(x_.num_operands() / 2);
    const bool is_signed = dtype_info(indices.dtype()).is_signed;
    const Shape& shape = x_.operand(0).shape();
    const Dims strides = shape.strides();
    llvm::Value* inside = e.f.b.getTrue();
    llvm::Value* offset = e.f.i64(0);
    for (int d = 0; d < shape.rank(); ++d) {
      const auto u = static_cast<size_t>(d);
      llvm::Value* at = e.number(inside_[u]);
      const auto mapped = std::ranges::find(attrs_.scatter_dims_to_operand_dims, d);
      if (mapped != attrs_.scatter_dims_to_operand_dims.end()) {
        const auto k = mapped - attrs_.scatter_dims_to_operand_dims.begin();
        llvm::Value* start =
            e.f.b.CreateIntCast(e.element(indices, component(k)), e.f.b.getInt64Ty(), is_signed);
        at = e.f.b.CreateAdd(at, start);
        inside = e.f.b.CreateAnd(inside, e.f.b.CreateICmpULT(at, e.f.i64(shape[d])));
      }
      offset = e.f.b.CreateAdd(offset, e.f.b.CreateMul(at, e.f.i64(strides[u])));
    }
    return {inside, offset};
  }

 private:
  const Instruction& x_;
  const hlo::ScatterAttrs& attrs_;
  std::vector<Affine> batch_;   // the update's coordinates outside of its window
  std::vector<Affine> inside_;  // by operand axis: what is added to the start
};

void combine(Elements& e, const Instruction& x, const std::vector<Slice>& written,
             const IndexRef& update, llvm::Value* offset) {
  const int inputs = x.num_results();
  std::vector<llvm::Value*> arguments;
  for (int k = 0; k < inputs; ++k) {
    const auto u = static_cast<size_t>(k);
    arguments.push_back(e.f.load_from(e.f.address(written[u]), x.results()[u].dtype, offset));
  }
  for (int k = 0; k < inputs; ++k) {
    const Value value = x.operand(inputs + 1 + k);
    arguments.push_back(convert(e.f, value.dtype(), x.region().parameter(inputs + k).dtype(),
                                e.element(value, update)));
  }
  const std::vector<llvm::Value*> results = e.call(x.region(), arguments);
  for (size_t k = 0; k < results.size(); ++k) {
    e.f.store_to(e.f.address(written[k]), x.results()[k].dtype, offset, results[k]);
  }
}

}  // namespace

// In order of the updates, one behind the other: what they do to the same element may depend on it.
void emit_scatter(FunctionEmitter& f, const Instruction& x) {
  const Step step(x);
  const std::vector<Slice> written = result_slices(f, x);
  for (int k = 0; k < x.num_results(); ++k) {
    const auto u = static_cast<size_t>(k);
    if (x.operand(k).dtype() == x.results()[u].dtype) {
      f.copy({f.slice(x.operand(k)), written[u]});
      continue;
    }
    emit_loop_over(
        f, {.step = step,
            .shape = x.operand(k).shape(),
            .written = written,
            .visit = [&](ElementAccess& access,
                         const IndexRef& index) { access.visit(x.operand(k), index); },
            .store =
                [&](Elements& e, const IndexRef& index) {
                  llvm::Value* value = convert(e.f, x.operand(k).dtype(), x.results()[u].dtype,
                                               e.element(x.operand(k), index));
                  e.f.store(written[u], x.results()[u].dtype, e.number(index->offset()), value);
                }});
  }
  emit_loop_over(f, {.step = step,
                     .shape = x.operand(x.num_results() + 1).shape(),
                     .written = written,
                     .parallel = false,
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           ScatterTarget(x, index->at(access)).visit(access);
                           access.need(index->offset());
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           const auto [inside, offset] = ScatterTarget(x, index->at(e)).emit(e);
                           e.f.if_then(inside, [&] { combine(e, x, written, index, offset); });
                         }});
}

}  // namespace systole::cpu
