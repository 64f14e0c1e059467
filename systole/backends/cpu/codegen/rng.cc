// rng_bit_generator: bit for bit what XLA's expansion of the op gives. Every block of bits is a
// function of the state and the block's number, so that blocks are computed side by side.
#include <algorithm>
#include <array>

#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;

constexpr double kBlockWork = 3;  // nanoseconds

// Emits words of random bits into one function.
class Generator {
 public:
  Generator(FunctionEmitter& f, const Instruction& x) : f_(f), b_(f.b) {
    const int64_t words = x.operand(0).shape()[0];
    f.begin_step({f.slice(const_cast<Instruction&>(x).result(1))});
    for (int64_t i = 0; i < words; ++i) state_.push_back(f.load(x.operand(0), f.i64(i)));
  }

  llvm::Value* state(size_t i) const { return state_[i]; }
  size_t words() const { return state_.size(); }

  // Of three words the state is the key and a counter, low half first; of two the key is the
  // counter's high half, too.
  std::array<llvm::Value*, 4> philox(llvm::Value* number) {
    llvm::Value* counter = b_.CreateAdd(state_[1], number);
    llvm::Value* upper = state_.size() == 3 ? state_[2] : state_[0];
    upper = b_.CreateAdd(upper, carry(counter));
    std::array<llvm::Value*, 4> c = {low(counter), high(counter), low(upper), high(upper)};
    llvm::Value* key[2] = {low(state_[0]), high(state_[0])};
    for (int round = 0; round < 10; ++round) {
      llvm::Value* product0 = wide_product(c[0], 0xD2511F53U);
      llvm::Value* product1 = wide_product(c[2], 0xCD9E8D57U);
      c = {b_.CreateXor(b_.CreateXor(high(product1), c[1]), key[0]), low(product1),
           b_.CreateXor(b_.CreateXor(high(product0), c[3]), key[1]), low(product0)};
      key[0] = b_.CreateAdd(key[0], b_.getInt32(0x9E3779B9U));
      key[1] = b_.CreateAdd(key[1], b_.getInt32(0xBB67AE85U));
    }
    return c;
  }

  std::array<llvm::Value*, 2> threefry(llvm::Value* number) {
    constexpr std::array<uint32_t, 8> kRotations = {13, 15, 26, 6, 17, 29, 16, 24};
    llvm::Value* counter = b_.CreateAdd(state_[1], number);
    llvm::Value* key0 = low(state_[0]);
    llvm::Value* key1 = high(state_[0]);
    const std::array<llvm::Value*, 3> keys = {
        key0, key1, b_.CreateXor(b_.CreateXor(key0, key1), b_.getInt32(0x1BD11BDAU))};
    llvm::Value* x0 = b_.CreateAdd(low(counter), keys[0]);
    llvm::Value* x1 = b_.CreateAdd(high(counter), keys[1]);
    for (uint32_t round = 0; round < 20; ++round) {
      x0 = b_.CreateAdd(x0, x1);
      x1 = b_.CreateIntrinsic(llvm::Intrinsic::fshl, {b_.getInt32Ty()},
                              {x1, x1, b_.getInt32(kRotations[round % 8])});
      x1 = b_.CreateXor(x1, x0);
      if (round % 4 != 3) continue;
      const uint32_t group = round / 4 + 1;
      x0 = b_.CreateAdd(x0, keys[group % 3]);
      x1 = b_.CreateAdd(x1, b_.CreateAdd(keys[(group + 1) % 3], b_.getInt32(group)));
    }
    return {x0, x1};
  }

  // 1 when the counter, which has grown, is past its end.
  llvm::Value* carry(llvm::Value* counter) {
    return b_.CreateZExt(b_.CreateICmpULT(counter, state_[1]), b_.getInt64Ty());
  }
  llvm::Value* joined(llvm::Value* low_word, llvm::Value* high_word) {
    llvm::Value* upper = b_.CreateShl(b_.CreateZExt(high_word, b_.getInt64Ty()), 32);
    return b_.CreateOr(b_.CreateZExt(low_word, b_.getInt64Ty()), upper);
  }

 private:
  llvm::Value* low(llvm::Value* x) { return b_.CreateTrunc(x, b_.getInt32Ty()); }
  llvm::Value* high(llvm::Value* x) { return low(b_.CreateLShr(x, 32)); }
  llvm::Value* wide_product(llvm::Value* x, uint32_t factor) {
    return b_.CreateMul(b_.CreateZExt(x, b_.getInt64Ty()), b_.getInt64(factor));
  }

  FunctionEmitter& f_;
  llvm::IRBuilder<>& b_;
  std::vector<llvm::Value*> state_;
};

// Where the bits go.
class Bits {
 public:
  explicit Bits(const Instruction& x)
      : type_(x.results()[1]), value_(const_cast<Instruction&>(x).result(1)) {}

  int64_t count() const { return type_.shape.num_elements(); }
  const Shape& shape() const { return type_.shape; }
  bool wide() const { return size_of(type_.dtype) == 8; }
  // A word as an element: its low bits.
  void store(FunctionEmitter& f, llvm::Value* offset, llvm::Value* word) const {
    constexpr DType kUnsigned[] = {DType::u8, DType::u16, DType::u32, DType::u64};
    const int size = size_of(type_.dtype);
    const DType dtype = kUnsigned[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
    word = f.b.CreateTrunc(word, memory_type(f.program.context(), dtype));
    if (type_.dtype == DType::u4) word = f.b.CreateAnd(word, f.b.getInt8(15));
    if (type_.dtype == DType::s4) word = f.b.CreateAShr(f.b.CreateShl(word, 4), 4);
    f.store(f.slice(value_), dtype, offset, word);
  }

 private:
  const TensorType& type_;
  hlo::Value value_;
};

// body(g, generator, begin, end) emits a part of [0, n), which stands for so many blocks of bits;
// the parts run on all threads where that pays.
using RangeCode =
    std::function<void(FunctionEmitter&, Generator&, llvm::Value* begin, llvm::Value* end)>;
void for_range(FunctionEmitter& f, const Instruction& x, int64_t n, int64_t blocks,
               const RangeCode& body) {
  if (n == 0) return;
  emit_parallel(f, n, kBlockWork * static_cast<double>(blocks),
                [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                  Generator generator(g, x);
                  body(g, generator, begin == nullptr ? g.i64(0) : begin,
                       end == nullptr ? g.i64(n) : end);
                });
}

// body(g, generator, i) for each block i.
using BlockCode = std::function<void(FunctionEmitter&, Generator&, llvm::Value* i)>;
void for_blocks(FunctionEmitter& f, const Instruction& x, int64_t blocks, const BlockCode& body) {
  for_range(f, x, blocks, blocks,
            [&](FunctionEmitter& g, Generator& generator, llvm::Value* begin, llvm::Value* end) {
              g.loop(begin, end, [&](llvm::Value* i) { body(g, generator, i); });
            });
}

// Returns the number of blocks used.
int64_t emit_philox(FunctionEmitter& f, const Instruction& x, const Bits& bits) {
  const int64_t per_block = bits.wide() ? 2 : 4;
  const auto store_block = [&](FunctionEmitter& g, Generator& generator, llvm::Value* number,
                               int64_t elements) {
    const auto words = generator.philox(number);
    llvm::Value* first = g.b.CreateMul(number, g.i64(per_block));
    for (int64_t k = 0; k < elements; ++k) {
      const auto w = static_cast<size_t>(k);
      bits.store(g, g.b.CreateAdd(first, g.i64(k)),
                 bits.wide() ? generator.joined(words[2 * w], words[2 * w + 1]) : words[w]);
    }
  };
  const int64_t whole = bits.count() / per_block;
  for_blocks(f, x, whole, [&](FunctionEmitter& g, Generator& generator, llvm::Value* i) {
    store_block(g, generator, i, per_block);
  });
  const int64_t rest = bits.count() % per_block;
  if (rest == 0) return whole;
  Generator generator(f, x);
  store_block(f, generator, f.i64(whole), rest);
  return whole + 1;
}

int64_t emit_wide_threefry(FunctionEmitter& f, const Instruction& x, const Bits& bits) {
  for_blocks(f, x, bits.count(), [&](FunctionEmitter& g, Generator& generator, llvm::Value* i) {
    const auto words = generator.threefry(i);
    bits.store(g, i, generator.joined(words[0], words[1]));
  });
  return bits.count();
}

// A block's two words lie side by side along the first axis of even size, or the longest one.
int64_t emit_threefry(FunctionEmitter& f, const Instruction& x, const Bits& bits) {
  const Shape& shape = bits.shape();
  int64_t size = 1;   // of that axis
  int64_t inner = 1;  // elements behind it
  if (shape.rank() > 0) {
    const auto even = std::ranges::find_if(shape, [](int64_t n) { return n % 2 == 0; });
    const auto axis = even != shape.end() ? even : std::ranges::max_element(shape);
    size = *axis;
    for (auto it = axis + 1; it != shape.end(); ++it) inner *= *it;
  }
  if (bits.count() == 0) return 0;
  const int64_t pairs = (size + 1) / 2;
  const int64_t rows = bits.count() / (size * inner) * pairs;
  const auto block = [&](FunctionEmitter& g, Generator& generator, llvm::Value* row,
                         llvm::Value* i) {
    auto& b = g.b;
    const auto words = generator.threefry(b.CreateAdd(b.CreateMul(row, g.i64(inner)), i));
    // Of an odd size the last row has one word.
    llvm::Value* missing = size % 2 == 0 ? g.i64(0) : b.CreateUDiv(row, g.i64(pairs));
    llvm::Value* line = b.CreateSub(b.CreateMul(row, g.i64(2)), missing);
    llvm::Value* first = b.CreateAdd(b.CreateMul(line, g.i64(inner)), i);
    bits.store(g, first, words[0]);
    const auto second = [&] { bits.store(g, b.CreateAdd(first, g.i64(inner)), words[1]); };
    if (size % 2 == 0) return second();
    llvm::Value* pair = b.CreateURem(row, g.i64(pairs));
    g.if_then(b.CreateICmpNE(pair, g.i64(pairs - 1)), second);
  };
  // The longer of the two loops is shared by threads.
  const bool by_row = rows >= inner;
  for_range(f, x, by_row ? rows : inner, rows * inner,
            [&](FunctionEmitter& g, Generator& generator, llvm::Value* begin, llvm::Value* end) {
              g.loop(by_row ? begin : g.i64(0), by_row ? end : g.i64(rows), [&](llvm::Value* row) {
                g.loop(by_row ? g.i64(0) : begin, by_row ? g.i64(inner) : end,
                       [&](llvm::Value* i) { block(g, generator, row, i); });
              });
            });
  return rows * inner;
}

}  // namespace

void emit_rng_bit_generator(FunctionEmitter& f, const Instruction& x) {
  const Bits bits(x);
  const bool is_threefry =
      x.attrs<hlo::RngBitGeneratorAttrs>().rng_algorithm == hlo::RngAlgorithm::three_fry;
  const int64_t blocks = !is_threefry  ? emit_philox(f, x, bits)
                         : bits.wide() ? emit_wide_threefry(f, x, bits)
                                       : emit_threefry(f, x, bits);
  // The state comes last: it may lie where it was.
  Generator generator(f, x);
  llvm::Value* counter = f.b.CreateAdd(generator.state(1), f.i64(blocks));
  const Slice to = result_slices(f, x)[0];
  f.begin_step({to});
  f.store(to, DType::u64, f.i64(0), generator.state(0));
  f.store(to, DType::u64, f.i64(1), counter);
  if (generator.words() == 3) {
    llvm::Value* upper = generator.state(2);
    if (!is_threefry) upper = f.b.CreateAdd(upper, generator.carry(counter));
    f.store(to, DType::u64, f.i64(2), upper);
  }
}

}  // namespace systole::cpu
