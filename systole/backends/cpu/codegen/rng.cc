// rng_bit_generator: bit for bit what XLA's expansion of the op gives.
#include <array>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/thunks.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using Words = std::vector<llvm::Value*>;  // of 32 bits

// Where a block's words go: word k to element first + k * step.
struct LanePlace {
  llvm::Value* first;
  int64_t step;
};

// Whose elements are as many bits; itself but for floats.
DType integer_of(DType dtype) {
  if (!is_floating(dtype)) return dtype;
  return size_of(dtype) == 2 ? DType::u16 : size_of(dtype) == 4 ? DType::u32 : DType::u64;
}

class RngCode {
 public:
  RngCode(FunctionEmitter& f, const Instruction& x)
      : f_(f),
        b_(f.b),
        state_words_(x.results()[0].shape[0]),
        dtype_(integer_of(x.results()[1].dtype)),
        state_(f.address(f.slice(x.operand(0)))),
        bits_(f.slice(const_cast<Instruction&>(x).result(1))) {
    for (int64_t i = 0; i < state_words_; ++i) state_values_.push_back(load_state(i));
  }

  int64_t words_per_element() const { return size_of(dtype_) == 8 ? 2 : 1; }

  // Block `number` of the counter's.
  Words philox(llvm::Value* number) {
    llvm::Value* counter = b_.CreateAdd(state_values_[1], number);
    llvm::Value* carry = b_.CreateZExt(b_.CreateICmpULT(counter, number), b_.getInt64Ty());
    // With a state of two words the key is the counter's high half, too.
    llvm::Value* upper = b_.CreateAdd(state_values_[state_words_ == 3 ? 2 : 0], carry);
    Words c = {low(counter), high(counter), low(upper), high(upper)};
    llvm::Value* key0 = low(state_values_[0]);
    llvm::Value* key1 = high(state_values_[0]);
    for (int round = 0; round < 10; ++round) {
      llvm::Value* p0 = product(c[0], 0xD2511F53U);
      llvm::Value* p1 = product(c[2], 0xCD9E8D57U);
      c = {b_.CreateXor(b_.CreateXor(high(p1), c[1]), key0), low(p1),
           b_.CreateXor(b_.CreateXor(high(p0), c[3]), key1), low(p0)};
      key0 = b_.CreateAdd(key0, b_.getInt32(0x9E3779B9U));
      key1 = b_.CreateAdd(key1, b_.getInt32(0xBB67AE85U));
    }
    return c;
  }

  Words threefry(llvm::Value* number) {
    static constexpr std::array<std::array<uint64_t, 4>, 2> kRotations = {
        {{13, 15, 26, 6}, {17, 29, 16, 24}}};
    llvm::Value* counter = b_.CreateAdd(state_values_[1], number);
    llvm::Value* k0 = low(state_values_[0]);
    llvm::Value* k1 = high(state_values_[0]);
    llvm::Value* k2 = b_.CreateXor(b_.CreateXor(k0, k1), b_.getInt32(0x1BD11BDAU));
    const std::array keys = {k0, k1, k2};
    llvm::Value* x = b_.CreateAdd(low(counter), k0);
    llvm::Value* y = b_.CreateAdd(high(counter), k1);
    for (size_t group = 0; group < 5; ++group) {
      for (const uint64_t by : kRotations[group % 2]) {
        x = b_.CreateAdd(x, y);
        y = b_.CreateXor(b_.CreateIntrinsic(llvm::Intrinsic::fshl, {b_.getInt32Ty()},
                                            {y, y, b_.getInt32(static_cast<uint32_t>(by))}),
                         x);
      }
      x = b_.CreateAdd(x, keys[(group + 1) % 3]);
      y = b_.CreateAdd(
          y, b_.CreateAdd(keys[(group + 2) % 3], b_.getInt32(static_cast<uint32_t>(group + 1))));
    }
    return {x, y};
  }

  // The first `count` elements that the words make.
  void store(const Words& words, const LanePlace& place, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      llvm::Value* offset = b_.CreateAdd(place.first, f_.i64(k * place.step), "", true, true);
      f_.store(bits_, dtype_, offset, element(words, static_cast<size_t>(k)));
    }
  }

 private:
  llvm::Value* low(llvm::Value* x) { return b_.CreateTrunc(x, b_.getInt32Ty()); }
  llvm::Value* high(llvm::Value* x) { return low(b_.CreateLShr(x, 32)); }
  llvm::Value* wide(llvm::Value* x) { return b_.CreateZExt(x, b_.getInt64Ty()); }
  llvm::Value* product(llvm::Value* x, uint32_t factor) {
    return b_.CreateMul(wide(x), b_.getInt64(factor));
  }
  llvm::Value* load_state(int64_t i) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), state_,
                                                                        static_cast<uint64_t>(i)));
  }
  // The low bits of a word, or two words.
  llvm::Value* element(const Words& words, size_t k) {
    if (words_per_element() == 2)
      return b_.CreateOr(wide(words[2 * k]), b_.CreateShl(wide(words[2 * k + 1]), 32));
    llvm::Value* bits = b_.CreateTrunc(words[k], register_type(f_.program.context(), dtype_));
    return fit(f_, dtype_, bits);
  }

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  int64_t state_words_;
  DType dtype_;
  llvm::Value* state_;
  Slice bits_;
  std::vector<llvm::Value*> state_values_;
};

// body(i) for i in [begin, end), or in [0, size) where they are null.
void loop_range(FunctionEmitter& g, llvm::Value* begin, llvm::Value* end, int64_t size,
                const FunctionEmitter::LoopBody& body) {
  if (begin == nullptr) {
    begin = g.i64(0);
    end = g.i64(size);
  }
  g.loop(begin, end, body);
}

constexpr double kBlockWork = 4;  // nanoseconds, about

// Blocks [begin, end) of four words, contiguous.
void emit_philox_blocks(FunctionEmitter& f, const Instruction& x, const std::vector<Slice>& written,
                        llvm::Value* begin, llvm::Value* end) {
  const int64_t per_block = size_of(x.results()[1].dtype) == 8 ? 2 : 4;
  f.begin_kernel(written);
  RngCode code(f, x);
  f.loop(begin, end, [&](llvm::Value* i) {
    llvm::Value* first = f.b.CreateMul(i, f.i64(per_block), "", true, true);
    code.store(code.philox(i), {first, 1}, per_block);
  });
}

// The blocks of the rows that f is restricted to, if it is.
int64_t emit_philox(FunctionEmitter& f, const Instruction& x, const std::vector<Slice>& written) {
  const int64_t count = x.results()[1].shape.num_elements();
  const int64_t per_block = size_of(x.results()[1].dtype) == 8 ? 2 : 4;
  const int64_t whole = count / per_block;
  if (f.rows.count > 0) {
    const auto blocks = [&](llvm::Value* rows) {
      return f.b.CreateMul(rows, f.i64(whole / f.rows.count), "", true, true);
    };
    if (f.rows.phase == FunctionEmitter::Rows::Phase::middle)
      emit_philox_blocks(f, x, written, blocks(f.rows.begin), blocks(f.rows.end));
    return whole;
  }
  if (whole > 0) {
    emit_parallel(f, whole, kBlockWork * static_cast<double>(whole),
                  [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                    emit_philox_blocks(g, x, written, begin == nullptr ? g.i64(0) : begin,
                                       end == nullptr ? g.i64(whole) : end);
                  });
  }
  if (count % per_block == 0) return whole;
  f.begin_kernel(written);
  RngCode code(f, x);
  code.store(code.philox(f.i64(whole)), {f.i64(whole * per_block), 1}, count % per_block);
  return whole + 1;
}

// Threefry's two words make one element of 64 bits, or lie side by side along the first axis of
// even size, or the longest one. Returns the number of blocks.
int64_t emit_threefry(FunctionEmitter& f, const Instruction& x, const std::vector<Slice>& written) {
  const TensorType& type = x.results()[1];
  const int64_t count = type.shape.num_elements();
  if (count == 0) return 0;
  int64_t size = 1;   // of the axis that is split
  int64_t inner = 1;  // elements after it
  const bool pairs = size_of(type.dtype) != 8;
  if (pairs && type.shape.rank() > 0) {
    const auto even = std::ranges::find_if(type.shape, [](int64_t n) { return n % 2 == 0; });
    const auto axis = even != type.shape.end() ? even : std::ranges::max_element(type.shape);
    size = *axis;
    for (auto it = axis + 1; it != type.shape.end(); ++it) inner *= *it;
  }
  // Runs of `inner` blocks; the last of an odd axis gives one word a block.
  const int64_t runs = (size + 1) / 2;
  const int64_t outer = count / (size * inner);
  const auto emit_run = [&](FunctionEmitter& g, RngCode& code, llvm::Value* o, llvm::Value* run,
                            int64_t words) {
    auto& b = g.b;
    llvm::Value* block = b.CreateMul(b.CreateAdd(b.CreateMul(o, g.i64(runs)), run), g.i64(inner));
    llvm::Value* first = b.CreateMul(
        b.CreateAdd(b.CreateMul(o, g.i64(size)), b.CreateMul(run, g.i64(2))), g.i64(inner));
    g.loop(inner, [&](llvm::Value* i) {
      code.store(code.threefry(b.CreateAdd(block, i)), {b.CreateAdd(first, i), inner}, words);
    });
  };
  const int64_t whole = pairs ? size / 2 : 0;
  if (whole > 0) {
    // Runs may be single blocks: then all of them are one loop.
    emit_parallel(f, outer * whole, kBlockWork * static_cast<double>(count),
                  [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                    g.begin_kernel(written);
                    RngCode code(g, x);
                    loop_range(g, begin, end, outer * whole, [&](llvm::Value* i) {
                      emit_run(g, code, g.b.CreateUDiv(i, g.i64(whole)),
                               g.b.CreateURem(i, g.i64(whole)), 2);
                    });
                  });
  }
  if (!pairs || size % 2 == 1) {
    const int64_t last = runs - 1;
    const int64_t all = pairs ? outer : count;
    emit_parallel(f, all, kBlockWork * static_cast<double>(all * inner),
                  [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                    g.begin_kernel(written);
                    RngCode code(g, x);
                    loop_range(g, begin, end, all,
                               [&](llvm::Value* o) { emit_run(g, code, o, g.i64(last), 1); });
                  });
  }
  return outer * runs * inner;
}

}  // namespace

void emit_rng_bit_generator(FunctionEmitter& f, const Instruction& x) {
  const hlo::Value next_state = const_cast<Instruction&>(x).result(0);
  const std::vector<Slice> written = {f.slice(const_cast<Instruction&>(x).result(1))};
  const bool threefry =
      x.attrs<hlo::RngBitGeneratorAttrs>().rng_algorithm == hlo::RngAlgorithm::three_fry;
  const int64_t blocks = threefry ? emit_threefry(f, x, written) : emit_philox(f, x, written);
  using Phase = FunctionEmitter::Rows::Phase;
  if (f.rows.count > 0 && (f.rows.phase != Phase::last || !is_used(next_state))) return;
  // The state moves on by what was used. Its memory may be that of the old one.
  f.begin_kernel({});
  auto& b = f.b;
  const auto at = [&](llvm::Value* state, uint64_t i) {
    return b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), state, i);
  };
  llvm::Value* old = f.address(f.slice(x.operand(0)));
  llvm::Value* next = f.address(f.slice(next_state));
  const auto words = static_cast<uint64_t>(x.results()[0].shape[0]);
  std::vector<llvm::Value*> state;
  for (uint64_t i = 0; i < words; ++i) state.push_back(b.CreateLoad(b.getInt64Ty(), at(old, i)));
  state[1] = b.CreateAdd(state[1], f.i64(blocks));
  if (!threefry && words == 3) {
    llvm::Value* carry = b.CreateICmpULT(state[1], f.i64(blocks));
    state[2] = b.CreateAdd(state[2], b.CreateZExt(carry, b.getInt64Ty()));
  }
  for (uint64_t i = 0; i < words; ++i) b.CreateStore(state[i], at(next, i));
}

}  // namespace systole::cpu
