#include <array>
#include <bit>

#include "systole/base/random.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/elementwise.h"

namespace systole::hlo::ops {
namespace {

std::vector<TensorType> infer_rng_bit_generator(const InferContext& context) {
  const TensorType& state = context.operand(0);
  const RngAlgorithm algorithm = context.get<RngBitGeneratorAttrs>().rng_algorithm;
  check_dtype(context.opcode, "initial_state", state.dtype, DType::u64);  // I2
  const bool two = state.shape == Shape{2};
  const bool three = state.shape == Shape{3} && algorithm != RngAlgorithm::three_fry;
  if (!two && !three) {  // C2
    throw invalid_argument("rng_bit_generator: shape of initial_state, got {}, expected {}",
                           state.shape,
                           algorithm == RngAlgorithm::three_fry ? "[2]" : "[2] or [3]");
  }
  if (context.declared.size() != 2) {
    throw invalid_argument("rng_bit_generator: declared result types, got {}, expected 2",
                           context.declared.size());
  }
  const TensorType& output = context.declared[1];
  if (context.declared[0] != state) {  // C1
    throw invalid_argument("rng_bit_generator: type of output_state, got {}, expected {}",
                           context.declared[0], state);
  }
  if (!is_integer(output.dtype) && !is_floating(output.dtype)) {
    throw invalid_argument(
        "rng_bit_generator: element type of output, got {}, expected integer or floating-point",
        output.dtype);
  }
  return {state, output};
}

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
uint64_t join_words(uint32_t low, uint32_t high) { return low | (uint64_t{high} << 32); }

// The 128-bit counter of Philox.
struct Counter {
  uint64_t low = 0;
  uint64_t high = 0;
  Counter plus(uint64_t n) const { return {low + n, high + (low + n < low ? 1 : 0)}; }
};

void set_bits(Tensor& output, int64_t index, uint64_t bits) {
  const int width = dtype_info(output.dtype()).bits;
  if (width < 8) {
    bits &= (uint64_t{1} << width) - 1;
    const bool is_signed = is_integer(output.dtype()) && dtype_info(output.dtype()).is_signed;
    // Sign-extended within its byte.
    if (is_signed && bits >> (width - 1) != 0) bits |= 0xff & ~((uint64_t{1} << width) - 1);
  }
  set_element_bits(output, index, bits);
}

// XLA's order of the two words of a Threefry block for results of up to 32 bits. Along the first
// axis of even size, or the longest axis, result 2j takes the first word of block j and result 2j +
// 1 the second.
struct ThreefryLayout {
  explicit ThreefryLayout(const Shape& shape) {
    if (shape.rank() == 0) return;
    const auto even = std::ranges::find_if(shape, [](int64_t size) { return size % 2 == 0; });
    const auto axis = even != shape.end() ? even : std::ranges::max_element(shape);
    size = *axis;
    for (auto it = axis + 1; it != shape.end(); ++it) inner *= *it;
  }
  // Maps a row-major index of the result to its block, numbered in the halved shape.
  int64_t block(int64_t index) const {
    const int64_t outer = index / (size * inner);
    const int64_t along = index / inner % size;
    return (outer * ((size + 1) / 2) + along / 2) * inner + index % inner;
  }
  int64_t word(int64_t index) const { return index / inner % size % 2; }
  int64_t num_blocks(int64_t elements) const { return elements / size * ((size + 1) / 2); }

  int64_t size = 1;   // of the axis that is split
  int64_t inner = 1;  // elements after it
};

// State: key, counter.
void threefry(std::span<uint64_t> state, Tensor& output) {
  const std::array<uint32_t, 2> key = {low(state[0]), high(state[0])};
  const auto block = [&](int64_t number) {
    const uint64_t counter = state[1] + static_cast<uint64_t>(number);
    return threefry2x32(key, {low(counter), high(counter)});
  };
  const int64_t count = output.num_elements();
  if (dtype_info(output.dtype()).bits == 64) {
    for (int64_t i = 0; i < count; ++i) {
      const auto words = block(i);
      set_bits(output, i, join_words(words[0], words[1]));
    }
    state[1] += static_cast<uint64_t>(count);
    return;
  }
  if (count == 0) return;
  // Types below 32 bits take the low bits of a word.
  const ThreefryLayout layout(output.shape());
  for (int64_t i = 0; i < count; ++i) {
    set_bits(output, i, block(layout.block(i))[layout.word(i)]);
  }
  state[1] += static_cast<uint64_t>(layout.num_blocks(count));
}

// State u64[3]: key, counter (low half first). State u64[2]: the key is also the counter's high
// half.
void philox(std::span<uint64_t> state, Tensor& output) {
  const std::array<uint32_t, 2> key = {low(state[0]), high(state[0])};
  const Counter first =
      state.size() == 3 ? Counter{state[1], state[2]} : Counter{state[1], state[0]};
  const bool wide = dtype_info(output.dtype()).bits == 64;
  const int64_t per_block = wide ? 2 : 4;
  std::array<uint32_t, 4> words{};
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    const auto at = static_cast<size_t>(i % per_block);
    if (at == 0) {
      const Counter c = first.plus(static_cast<uint64_t>(i / per_block));
      words = philox4x32(key, {low(c.low), high(c.low), low(c.high), high(c.high)});
    }
    set_bits(output, i, wide ? join_words(words[2 * at], words[2 * at + 1]) : words[at]);
  }
  const int64_t num_blocks = (output.num_elements() + per_block - 1) / per_block;
  const Counter next = first.plus(static_cast<uint64_t>(num_blocks));
  state[1] = next.low;
  if (state.size() == 3) state[2] = next.high;
}

// Equal bit for bit to XLA's expansion of this op. DEFAULT is Philox.
std::vector<Tensor> evaluate_rng_bit_generator(const Instruction& instruction,
                                               std::span<const Tensor> operands, const Evaluator&) {
  Tensor state = operands[0].clone();
  Tensor output(instruction.results()[1]);
  const bool is_threefry =
      instruction.attrs<RngBitGeneratorAttrs>().rng_algorithm == RngAlgorithm::three_fry;
  (is_threefry ? threefry : philox)(state.data<uint64_t>(), output);
  return {state, output};
}

}  // namespace

extern const OpSemantics rng_bit_generator_semantics{
    .infer = infer_rng_bit_generator,
    .evaluate = evaluate_rng_bit_generator,
    .format = AssemblyFormat{"$*, algorithm = <rng_algorithm>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%s: tensor<2xui64>",
            .results = "tensor<2xui64>, tensor<4x$T>",
            .body =
                R"(%r:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x$T>))"},
    .vectorize = replicas::vectorize_rng_bit_generator};

}  // namespace systole::hlo::ops
