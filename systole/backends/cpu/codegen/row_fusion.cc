#include <algorithm>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/reduction.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/jit/jit.h"
#include "systole/backends/cpu/kernels/row_dot.h"
#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kBlockBytes = 64 * 1024;  // what some rows of all arrays may take
// The same with products among the thunks, which are slow for few rows.
constexpr int64_t kProductBlockBytes = 512 * 1024;
constexpr int64_t kMinProductRows = 8;

// The location of a value that a thunk of the fusion computes.
struct RowPlace {
  Value value;
  const Slice* result = nullptr;  // of the fusion, if it is one
  bool gathered = false;          // from all rows: a result, and there at the end
  bool in_block = true;           // rows are kept until the next rows come
  bool direct = false;            // rows are stored past the caches
  int64_t elements = 0;           // of a row

  int64_t row_bytes() const { return elements * size_of(value.dtype()); }
};

class RowFusion {
 public:
  RowFusion(const FunctionEmitter& f, const Instruction& fusion)
      : fusion_(fusion), rows_(rows_of_fusion(fusion)), results_(f.result_slices(fusion)) {
    for (const Instruction* x : fusion.region().instructions()) {
      if (x->is(Opcode::parameter) || x->is(Opcode::constant) || x->is(Opcode::return_)) continue;
      thunks_.push_back(x);
      if (gathers_rows(*x, rows_)) gathers_.push_back(x);
      for (int k = 0; k < x->num_results(); ++k)
        add_place(f, const_cast<Instruction*>(x)->result(k));
    }
    int64_t bytes = 0;
    for (const RowPlace& place : places_) bytes += place.row_bytes();
    for (const Value& operand : fusion.operands()) {
      if (operand.type().byte_size() >= rows_) bytes += operand.type().byte_size() / rows_;
    }
    together_ = rows_together(std::max<int64_t>(bytes, 1));
  }

  void emit(FunctionEmitter& f) const {
    const int64_t blocks = (rows_ + together_ - 1) / together_;
    // What is gathered must not depend on the number of threads: parts of a fixed number of blocks
    // have accumulators of their own, which are merged in order.
    const int64_t per_part = gathers_.empty() ? 1 : (blocks + kMaxParts - 1) / kMaxParts;
    const int64_t parts = (blocks + per_part - 1) / per_part;
    emit_parallel_body(
        f, parts, work(), [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
          place_outer(g);
          const std::vector<Slice> slices = place_values(g);
          g.loop(begin, end, [&](llvm::Value* part) { emit_part(g, slices, part, per_part); });
          g.end_streams();
        });
    if (gathers_.empty()) return;
    place_outer(f);
    f.rows = {.count = rows_, .parts = parts, .phase = FunctionEmitter::Rows::Phase::last};
    for (const Instruction* thunk : gathers_) emit_thunk(f, *thunk);
    f.rows = {};
  }

 private:
  // Rows are of so many bytes. Blocks of rows of a product have one matrix on the right, where they
  // can.
  int64_t rows_together(int64_t bytes) const {
    for (const Instruction* x : thunks_) {
      const auto dot = row_dot(*x);
      if (!dot) continue;
      const int64_t most = std::max(kProductBlockBytes / bytes, kMinProductRows);
      const int64_t blocks = (dot->matrix_rows + most - 1) / most;
      return (dot->matrix_rows + blocks - 1) / blocks;
    }
    return std::clamp<int64_t>(kBlockBytes / bytes, 1, rows_);
  }

  void add_place(const FunctionEmitter& f, Value value) {
    RowPlace place{.value = value, .gathered = is_gathered(value, rows_)};
    place.in_block = !place.gathered;
    if (!place.gathered) place.elements = value.shape().num_elements() / rows_;
    const auto results = fusion_.region().results();
    const auto found = std::ranges::find(results, value);
    if (found != results.end()) {
      place.result = &results_[found - results.begin()];
      const bool streamed =
          !place.gathered && place.result->bytes >= f.program.target.streamed_bytes;
      place.direct = streamed && place.row_bytes() % kAlignment == 0 && !is_read(value) &&
                     place.result->memory != Memory::argument &&  // which a later thunk may read
                     f.can_stream(*place.result, size_of(value.dtype()));
      place.in_block = streamed && !place.direct;
    }
    places_.push_back(place);
  }

  bool is_read(const Value& value) const {
    return std::ranges::any_of(fusion_.region().instructions(), [&](const Instruction* x) {
      return !x->is(Opcode::return_) &&
             std::ranges::find(x->operands(), value) != x->operands().end();
    });
  }

  // The last thunk that reads a large array, whose rows the caches then have, fetches the next rows
  // of it while it computes.
  const Instruction* fetching_thunk(const Value& array) const {
    const auto reads = [&](const Instruction* x) {
      return std::ranges::find(x->operands(), array) != x->operands().end();
    };
    const auto last = std::find_if(thunks_.rbegin(), thunks_.rend(), reads);
    return last == thunks_.rend() ? nullptr : *last;
  }

  void set_hints(FunctionEmitter& g, const Instruction& thunk) const {
    g.clear_hints();
    for (const RowPlace& place : places_) {
      if (place.direct) g.hint_streamed(g.slice(place.value));
    }
    for (int i = 0; i < fusion_.num_operands(); ++i) {
      const Value array = fusion_.region().parameter(i);
      const int64_t bytes = array.type().byte_size();
      if (bytes >= g.program.target.streamed_bytes && fetching_thunk(array) == &thunk)
        g.hint_ahead(g.slice(array), bytes / rows_ * together_);
    }
  }

  double work() const {
    double elements = 0;
    for (const Instruction* x : thunks_) {
      const int64_t size = x->is(Opcode::reduce) ? x->operand(0).shape().num_elements()
                                                 : x->results().back().shape.num_elements();
      const auto dot = row_dot(*x);
      const double inside = x->is(Opcode::fusion) ? x->region().num_instructions()
                            : dot                 ? static_cast<double>(dot->depth) / 5
                                                  : 1;
      elements += inside * static_cast<double>(size);
    }
    return 0.1 * elements;
  }

  // What lies in the program's memory.
  void place_outer(FunctionEmitter& g) const {
    for (int i = 0; i < fusion_.num_operands(); ++i)
      g.place(fusion_.region().parameter(i), g.slice(fusion_.operand(i)));
    // (Of what is no result there are some rows at a time, and none but these.)
    for (const RowPlace& place : places_)
      g.place(place.value, place.result != nullptr ? *place.result : Slice{});
    Slice scratch = g.program.buffers.scratch(fusion_);
    for (const Instruction* thunk : gathers_) {
      scratch.bytes = gather_scratch_bytes(*thunk);
      g.place_scratch(*thunk, scratch);
      scratch.offset += scratch.bytes;
    }
  }

  // The memory of every place while some rows are worked on.
  std::vector<Slice> place_values(FunctionEmitter& g) const {
    std::vector<Slice> slices;
    for (const RowPlace& place : places_) {
      if (place.in_block) g.place(place.value, g.add_block(together_ * place.row_bytes()));
      slices.push_back(g.slice(place.value));
    }
    return slices;
  }

  void emit_part(FunctionEmitter& g, const std::vector<Slice>& slices, llvm::Value* part,
                 int64_t blocks) const {
    auto& b = g.b;
    g.rows = {.count = rows_, .part = part, .phase = FunctionEmitter::Rows::Phase::first};
    for (const Instruction* thunk : gathers_) emit_thunk(g, *thunk);
    llvm::Value* begin = b.CreateMul(part, g.i64(blocks * together_), "", true, true);
    llvm::Value* end = b.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, b.CreateAdd(begin, g.i64(blocks * together_)), g.i64(rows_));
    llvm::Value* count =
        b.CreateUDiv(b.CreateAdd(b.CreateSub(end, begin), g.i64(together_ - 1)), g.i64(together_));
    g.loop(g.i64(0), count, [&](llvm::Value* i) {
      llvm::Value* first = b.CreateAdd(begin, b.CreateMul(i, g.i64(together_)), "", true, true);
      llvm::Value* last =
          b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, g.i64(together_)), end);
      g.rows = {.count = rows_, .begin = first, .end = last, .part = part};
      emit_rows(g, slices);
    });
    g.rows = {};
  }

  void emit_rows(FunctionEmitter& g, const std::vector<Slice>& slices) const {
    auto& b = g.b;
    for (size_t k = 0; k < places_.size(); ++k) {
      if (!places_[k].in_block) continue;
      g.set_origin(slices[k],
                   b.CreateMul(g.rows.begin, g.i64(places_[k].elements), "", true, true));
    }
    for (const Instruction* thunk : thunks_) {
      set_hints(g, *thunk);
      emit_thunk(g, *thunk);
    }
    g.clear_hints();
    for (size_t k = 0; k < places_.size(); ++k) {
      const RowPlace& place = places_[k];
      if (!place.in_block || place.result == nullptr) continue;
      llvm::Value* count =
          b.CreateMul(b.CreateSub(g.rows.end, g.rows.begin), g.i64(place.elements));
      g.stream(slices[k], *place.result, size_of(place.value.dtype()), count);
    }
  }

  const Instruction& fusion_;
  int64_t rows_;
  std::vector<Slice> results_;
  std::vector<const Instruction*> thunks_;
  std::vector<const Instruction*> gathers_;  // those of them that gather rows
  std::vector<RowPlace> places_;
  int64_t together_ = 1;  // rows
};

}  // namespace

int64_t row_fusion_scratch_bytes(const Instruction& x) {
  const int64_t rows = rows_of_fusion(x);
  int64_t bytes = 0;
  for (const Instruction* thunk : x.region().instructions()) {
    if (gathers_rows(*thunk, rows)) bytes += gather_scratch_bytes(*thunk);
  }
  return bytes;
}

void emit_row_fusion(FunctionEmitter& f, const Instruction& x) { RowFusion(f, x).emit(f); }

}  // namespace systole::cpu
