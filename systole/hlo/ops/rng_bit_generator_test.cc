// Bit for bit what XLA's expansion gives. Vectors: the specification's example, StableHLO's
// testdata (rng_bit_generator_uint32_4, rng_bit_generator_uint64_2) and Random123's known answers.
#include "systole/base/random.h"
#include "systole/hlo/testing/op_case.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo::testing {
namespace {

std::string algorithm(const std::string& name) {
  return "{rng_algorithm = #stablehlo<rng_algorithm " + name + ">}";
}

const ValueCase kValues[] = {
    {"threefry_example",
     "rng_bit_generator",
     {"dense<[1, 2]> : tensor<2xui64>"},
     algorithm("THREE_FRY"),
     {"dense<[1, 6]> : tensor<2xui64>",
      "dense<[[9236835810183407956, 16087790271692313299], [18212823393184779219, "
      "2658481902456610144]]> : tensor<2x2xui64>"}},
    {"threefry_scalar",
     "rng_bit_generator",
     {"dense<3> : tensor<2xui64>"},
     algorithm("THREE_FRY"),
     {"dense<[3, 4]> : tensor<2xui64>", "dense<3349939604322698703> : tensor<ui64>"}},
    {"threefry_known_answer",
     "rng_bit_generator",
     {"dense<0> : tensor<2xui64>"},
     algorithm("THREE_FRY"),
     {"dense<[0, 1]> : tensor<2xui64>", "dense<[0x6b200159, 0x99ba4efe]> : tensor<2xui32>"}},
    {"threefry_one_word",
     "rng_bit_generator",
     {"dense<0> : tensor<2xui64>"},
     algorithm("THREE_FRY"),
     {"dense<[0, 1]> : tensor<2xui64>", "dense<0x6b200159> : tensor<ui32>"}},
    {"threefry_nothing",
     "rng_bit_generator",
     {"dense<[5, 6]> : tensor<2xui64>"},
     algorithm("THREE_FRY"),
     {"dense<[5, 6]> : tensor<2xui64>", "dense<> : tensor<3x0xui32>"}},
    {"philox_known_answer",
     "rng_bit_generator",
     {"dense<0> : tensor<3xui64>"},
     algorithm("PHILOX"),
     {"dense<[0, 1, 0]> : tensor<3xui64>",
      "dense<[0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]> : tensor<4xui32>"}},
    {"philox_wide",
     "rng_bit_generator",
     {"dense<0> : tensor<3xui64>"},
     algorithm("PHILOX"),
     {"dense<[0, 1, 0]> : tensor<3xui64>",
      "dense<[[0xe169c58d6627e8d5], [0x9b00dbd8bc57ac4c]]> : tensor<2x1xui64>"}},
    {"philox_float_bits",
     "rng_bit_generator",
     {"dense<0> : tensor<3xui64>"},
     algorithm("PHILOX"),
     {"dense<[0, 1, 0]> : tensor<3xui64>", "dense<[0x6627e8d5, 0xe169c58d]> : tensor<2xf32>"}},
    {"philox_narrow",
     "rng_bit_generator",
     {"dense<0> : tensor<3xui64>"},
     algorithm("PHILOX"),
     {"dense<[0, 1, 0]> : tensor<3xui64>", "dense<[0xd5, 0x8d, 0x4c]> : tensor<3xi8>"}},
    {"philox_nibbles",
     "rng_bit_generator",
     {"dense<0> : tensor<3xui64>"},
     algorithm("PHILOX"),
     {"dense<[0, 1, 0]> : tensor<3xui64>", "dense<[5, -3, -4, -8]> : tensor<4xi4>"}},
    {"default_is_philox",
     "rng_bit_generator",
     {"dense<0> : tensor<2xui64>"},
     algorithm("DEFAULT"),
     {"dense<[0, 1]> : tensor<2xui64>", "dense<[0x6627e8d5, 0xe169c58d]> : tensor<2xui32>"}},
    // Random123: key a4093822 299f31d0, counter 243f6a88 85a308d3 13198a2e 03707344.
    {"philox_key_and_counter",
     "rng_bit_generator",
     {"dense<[0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e]> : tensor<3xui64>"},
     algorithm("PHILOX"),
     {"dense<[0x299f31d0a4093822, 0x85a308d3243f6a89, 0x0370734413198a2e]> : tensor<3xui64>",
      "dense<[0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]> : tensor<4xui32>"}},
};

ErrorCase error(const std::string& name, const std::string& state,
                const std::string& algorithm_name, const std::vector<std::string>& results,
                const std::string& message) {
  return {name, "rng_bit_generator", {state}, algorithm(algorithm_name), results, message};
}

const ErrorCase kErrors[] = {
    error("c1_state_type", "tensor<2xui64>", "THREE_FRY", {"tensor<3xui64>", "tensor<f32>"},
          "rng_bit_generator: type of output_state, got u64[3], expected u64[2]"),
    error("c2_threefry", "tensor<3xui64>", "THREE_FRY", {"tensor<3xui64>", "tensor<f32>"},
          "rng_bit_generator: shape of initial_state, got [3], expected [2]"),
    error("c2_philox", "tensor<4xui64>", "PHILOX", {"tensor<4xui64>", "tensor<f32>"},
          "rng_bit_generator: shape of initial_state, got [4], expected [2] or [3]"),
    error("i2_dtype", "tensor<2xi16>", "PHILOX", {"tensor<2xi16>", "tensor<f32>"},
          "rng_bit_generator: element type of initial_state, got s16, expected u64"),
    error(
        "output_dtype", "tensor<2xui64>", "PHILOX", {"tensor<2xui64>", "tensor<i1>"},
        "rng_bit_generator: element type of output, got pred, expected integer or floating-point"),
    error("one_result", "tensor<2xui64>", "PHILOX", {"tensor<2xui64>"},
          "rng_bit_generator: declared result types, got 1, expected 2"),
};

INSTANTIATE_TEST_SUITE_P(Rng, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Rng, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

std::vector<Tensor> run(RngAlgorithm algorithm, const std::vector<uint64_t>& state, DType dtype,
                        const Shape& shape) {
  const Tensor initial =
      Tensor::of<uint64_t>({static_cast<int64_t>(state.size())}, std::span<const uint64_t>(state));
  return run_op({.opcode = Opcode::rng_bit_generator,
                 .operands = {initial},
                 .attrs = RngBitGeneratorAttrs{algorithm},
                 .declared = {initial.type(), {dtype, shape}}});
}

// Word `word` of the block for counter 9 + `block`, key 7.
uint32_t threefry_word(uint32_t block, size_t word) {
  return threefry2x32({7, 0}, {9 + block, 0})[word];
}

// XLA halves the first axis of even size and puts the halves' words next to each other.
TEST(RngBitGenerator, ThreefryInterleavesAlongTheFirstEvenAxis) {
  const std::vector<Tensor> results = run(RngAlgorithm::three_fry, {7, 9}, DType::u32, {3, 4, 2});
  const std::span<const uint32_t> got = std::as_const(results[1]).data<uint32_t>();
  for (uint32_t i = 0; i < 3; ++i) {
    for (uint32_t j = 0; j < 4; ++j) {
      for (uint32_t k = 0; k < 2; ++k) {
        EXPECT_EQ(got[i * 8 + j * 2 + k], threefry_word((i * 2 + j / 2) * 2 + k, j % 2));
      }
    }
  }
  EXPECT_EQ(results[0].as_double(1), 9 + 12);
}

// Without an even axis it is the longest one, rounded up; the last half is cut off.
TEST(RngBitGenerator, ThreefryInterleavesAlongTheLongestOddAxis) {
  const std::vector<Tensor> results = run(RngAlgorithm::three_fry, {7, 9}, DType::u16, {3, 5});
  const std::span<const uint16_t> got = std::as_const(results[1]).data<uint16_t>();
  for (uint32_t i = 0; i < 3; ++i) {
    for (uint32_t j = 0; j < 5; ++j) {
      EXPECT_EQ(got[i * 5 + j], static_cast<uint16_t>(threefry_word(i * 3 + j / 2, j % 2)));
    }
  }
  EXPECT_EQ(results[0].as_double(1), 9 + 9);
}

TEST(RngBitGenerator, PhiloxCarriesIntoTheCountersUpperHalf) {
  const std::vector<Tensor> results =
      run(RngAlgorithm::philox, {7, ~uint64_t{0}, 41}, DType::u32, {8});
  const std::span<const uint32_t> got = std::as_const(results[1]).data<uint32_t>();
  const auto first = philox4x32({7, 0}, {~0U, ~0U, 41, 0});
  const auto second = philox4x32({7, 0}, {0, 0, 42, 0});
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(got[i], first[i]);
    EXPECT_EQ(got[4 + i], second[i]);
  }
  EXPECT_TRUE(results[0].identical(Tensor::of<uint64_t>({3}, {7, 1, 42})));
}

// With two words of state the key is the counter's upper half, too.
TEST(RngBitGenerator, PhiloxWithTwoWordsOfState) {
  const std::vector<Tensor> results = run(RngAlgorithm::philox, {7, 9}, DType::u32, {5});
  const std::span<const uint32_t> got = std::as_const(results[1]).data<uint32_t>();
  EXPECT_EQ(got[0], philox4x32({7, 0}, {9, 0, 7, 0})[0]);
  EXPECT_EQ(got[4], philox4x32({7, 0}, {10, 0, 7, 0})[0]);
  EXPECT_TRUE(results[0].identical(Tensor::of<uint64_t>({2}, {7, 11})));
}

}  // namespace
}  // namespace systole::hlo::testing
