#include <algorithm>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/steps.h"
#include "systole/backends/cpu/jit/jit.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kBlockBytes = 48 * 1024;  // what some rows of all arrays may take

// Where a value lies that a step of the fusion computes.
struct Place {
  Value value;
  const Slice* result = nullptr;  // of the fusion, if it is one
  bool in_block = true;           // rows are kept until the next rows come
  int64_t elements = 0;           // of a row

  int64_t row_bytes() const { return elements * size_of(value.dtype()); }
};

class RowFusion {
 public:
  RowFusion(const FunctionEmitter& f, const Instruction& fusion)
      : fusion_(fusion), rows_(rows_of_fusion(fusion)), results_(result_slices(f, fusion)) {
    for (const Instruction* x : fusion.region().instructions()) {
      if (x->is(Opcode::parameter) || x->is(Opcode::constant) || x->is(Opcode::return_)) continue;
      steps_.push_back(x);
      for (int k = 0; k < x->num_results(); ++k)
        add_place(f, const_cast<Instruction*>(x)->result(k));
    }
    int64_t bytes = 0;
    for (const Place& place : places_) bytes += place.row_bytes();
    for (const Value& operand : fusion.operands()) {
      if (operand.type().byte_size() >= rows_) bytes += operand.type().byte_size() / rows_;
    }
    together_ = std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(bytes, 1), 1, rows_);
  }

  void emit(FunctionEmitter& f) const {
    const int64_t blocks = (rows_ + together_ - 1) / together_;
    emit_parallel_body(f, blocks, work(),
                       [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                         emit_blocks(g, begin, end);
                       });
  }

 private:
  void add_place(const FunctionEmitter& f, Value value) {
    Place place{.value = value, .elements = value.shape().num_elements() / rows_};
    const auto results = fusion_.region().results();
    const auto found = std::ranges::find(results, value);
    if (found != results.end()) {
      place.result = &results_[static_cast<size_t>(found - results.begin())];
      place.in_block = place.result->bytes >= f.program.target.streamed_bytes;
    }
    places_.push_back(place);
  }

  double work() const {
    double elements = 0;
    for (const Instruction* x : steps_) {
      const Value first =
          x->is(Opcode::reduce) ? x->operand(0) : Value{const_cast<Instruction*>(x), 0};
      const double inside = x->is(Opcode::fusion) ? x->region().num_instructions() : 1;
      elements += inside * static_cast<double>(first.shape().num_elements());
    }
    return 0.1 * elements;
  }

  void emit_blocks(FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) const {
    auto& b = g.b;
    for (int i = 0; i < fusion_.num_operands(); ++i)
      g.place(fusion_.region().parameter(i), g.slice(fusion_.operand(i)));
    std::vector<Slice> blocks;
    for (const Place& place : places_) {
      blocks.push_back(place.in_block ? g.add_block(together_ * place.row_bytes()) : *place.result);
      g.place(place.value, blocks.back());
    }
    g.loop(begin, end, [&](llvm::Value* i) {
      llvm::Value* first = b.CreateMul(i, g.i64(together_), "", true, true);
      llvm::Value* last = b.CreateBinaryIntrinsic(
          llvm::Intrinsic::smin, b.CreateAdd(first, g.i64(together_)), g.i64(rows_));
      g.rows = {rows_, first, last};
      for (size_t k = 0; k < places_.size(); ++k) {
        if (!places_[k].in_block) continue;
        g.set_origin(blocks[k], b.CreateMul(first, g.i64(places_[k].elements), "", true, true));
      }
      for (const Instruction* step : steps_) emit_step(g, *step);
      g.rows = {};
      for (size_t k = 0; k < places_.size(); ++k) {
        const Place& place = places_[k];
        if (!place.in_block || place.result == nullptr) continue;
        llvm::Value* count = b.CreateMul(b.CreateSub(last, first), g.i64(place.elements));
        g.stream(blocks[k], *place.result, size_of(place.value.dtype()), count);
      }
    });
    g.end_streams();
  }

  const Instruction& fusion_;
  int64_t rows_;
  std::vector<Slice> results_;
  std::vector<const Instruction*> steps_;
  std::vector<Place> places_;
  int64_t together_ = 1;  // rows
};

}  // namespace

void emit_row_fusion(FunctionEmitter& f, const Instruction& x) { RowFusion(f, x).emit(f); }

}  // namespace systole::cpu
