#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;
using hlo::testing::OpUnderTest;

constexpr DType kDTypes[] = {DType::pred, DType::s4,  DType::s16, DType::u64,
                             DType::bf16, DType::f32, DType::f64};

// The op on random operands of these shapes, for every dtype; those named in `indices` are s32
// between -2 and 5.
void expect_agreement(OpUnderTest op, const std::vector<Shape>& shapes,
                      const std::vector<size_t>& indices = {}, const Shape& declared = {}) {
  RandomStream random(31, static_cast<uint64_t>(op.opcode));
  for (const DType dtype : kDTypes) {
    op.operands.clear();
    for (size_t i = 0; i < shapes.size(); ++i) {
      const bool is_index = std::ranges::find(indices, i) != indices.end();
      op.operands.push_back(is_index
                                ? testing::random_tensor(random, {DType::s32, shapes[i]}, -2, 5)
                                : testing::random_tensor(random, {dtype, shapes[i]}, -8, 8));
    }
    if (declared.rank() > 0) op.declared = {{dtype, declared}};
    EXPECT_EQ(testing::check(op), "") << testing::words(op.opcode, dtype);
  }
}

TEST(DataMovement, Broadcasts) {
  expect_agreement({.opcode = Opcode::broadcast_in_dim, .attrs = hlo::BroadcastInDimAttrs{{1, 3}}},
                   {{3, 1}}, {}, {2, 3, 4, 5});
  expect_agreement({.opcode = Opcode::broadcast_in_dim, .attrs = hlo::BroadcastInDimAttrs{{2, 0}}},
                   {{3, 4}}, {}, {4, 2, 3});
}

TEST(DataMovement, Transposes) {
  expect_agreement({.opcode = Opcode::transpose, .attrs = hlo::TransposeAttrs{{2, 0, 1}}},
                   {{3, 17, 5}});
  expect_agreement({.opcode = Opcode::transpose, .attrs = hlo::TransposeAttrs{{1, 0}}},
                   {{130, 67}});
}

TEST(DataMovement, Reshapes) {
  expect_agreement({.opcode = Opcode::reshape}, {{3, 4, 5}}, {}, {6, 10});
}

// Loops whose results split the axes of each other: heads side by side, and a bias of each.
TEST(DataMovement, ReshapesOfTransposes) {
  RandomStream random(33);
  for (const DType dtype : {DType::bf16, DType::f32, DType::s32}) {
    hlo::Module module;
    hlo::Builder b(module.add_function("main"));
    const Value x = b.computation().add_parameter({dtype, {4, 3, 37, 20}});
    const Value bias = b.computation().add_parameter({dtype, {60}});
    const Value joined = b.reshape(b.transpose(x, {0, 2, 1, 3}), {4, 37, 60});
    const Value sum = b.add(joined, b.broadcast_in_dim(bias, joined.shape(), {2}));
    const Value halves = b.reshape(sum, {2, 74, 6, 10});
    b.computation().set_results({sum, b.multiply(halves, halves),
                                 b.transpose(b.reshape(sum, {4, 37, 3, 20}), {0, 2, 1, 3})});
    const std::vector<Tensor> arguments = {testing::random_tensor(random, x.type(), -8, 8),
                                           testing::random_tensor(random, bias.type(), -8, 8)};
    EXPECT_EQ(testing::check(module, arguments), "") << testing::words(dtype);
  }
}

TEST(DataMovement, Reverses) {
  expect_agreement({.opcode = Opcode::reverse, .attrs = hlo::DimensionsAttrs{{0, 2}}},
                   {{3, 4, 17}});
}

TEST(DataMovement, Slices) {
  expect_agreement({.opcode = Opcode::slice, .attrs = hlo::SliceAttrs{{1, 2}, {5, 17}, {2, 3}}},
                   {{6, 20}});
}

TEST(DataMovement, Pads) {
  expect_agreement({.opcode = Opcode::pad, .attrs = hlo::PadAttrs{{1, 2}, {3, 0}, {0, 2}}},
                   {{3, 5}, {}});
  expect_agreement({.opcode = Opcode::pad, .attrs = hlo::PadAttrs{{-1, -3}, {2, -1}, {2, 1}}},
                   {{3, 6}, {}});
  expect_agreement({.opcode = Opcode::pad, .attrs = hlo::PadAttrs{{-5}, {7}, {0}}}, {{4}, {}});
}

TEST(DataMovement, Concatenates) {
  expect_agreement({.opcode = Opcode::concatenate, .attrs = hlo::ConcatenateAttrs{1}},
                   {{3, 2}, {3, 0}, {3, 19}});
  expect_agreement({.opcode = Opcode::concatenate, .attrs = hlo::ConcatenateAttrs{0}},
                   {{3, 2}, {1, 2}});
}

TEST(DataMovement, CountsUp) {
  for (const DType dtype : {DType::s4, DType::u8, DType::s64, DType::f16, DType::f32, DType::f64}) {
    for (const int64_t axis : {0, 1, 2}) {
      EXPECT_EQ(testing::check({.opcode = Opcode::iota,
                                .attrs = hlo::IotaAttrs{axis},
                                .declared = {{dtype, {3, 4, 17}}}}),
                "");
    }
  }
}

// Start indices reach beyond the operand and are moved inside.
TEST(DataMovement, SlicesDynamically) {
  expect_agreement({.opcode = Opcode::dynamic_slice, .attrs = hlo::DynamicSliceAttrs{{2, 3}}},
                   {{4, 6}, {}, {}}, {1, 2});
  expect_agreement({.opcode = Opcode::dynamic_update_slice}, {{4, 6}, {2, 3}, {}, {}}, {2, 3});
}

TEST(DataMovement, Gathers) {
  // Rows by number, an embedding.
  expect_agreement({.opcode = Opcode::gather,
                    .attrs = hlo::GatherAttrs{.offset_dims = {2},
                                              .collapsed_slice_dims = {0},
                                              .start_index_map = {0},
                                              .index_vector_dim = 2,
                                              .slice_sizes = {1, 17}}},
                   {{4, 17}, {2, 3, 1}}, {1});
  // Windows at two-dimensional places, with a batch.
  expect_agreement({.opcode = Opcode::gather,
                    .attrs = hlo::GatherAttrs{.offset_dims = {1, 3},
                                              .operand_batching_dims = {0},
                                              .start_indices_batching_dims = {1},
                                              .start_index_map = {2, 1},
                                              .index_vector_dim = 2,
                                              .slice_sizes = {1, 2, 3}}},
                   {{3, 4, 5}, {6, 3, 2}}, {1});
}

hlo::Opcode combiner_for(DType dtype) { return dtype == DType::pred ? Opcode::or_ : Opcode::add; }

TEST(DataMovement, Scatters) {
  RandomStream random(32);
  for (const DType dtype : kDTypes) {
    const auto tensor = [&](const Shape& shape) {
      return testing::random_tensor(random, {dtype, shape}, -4, 4);
    };
    const auto add = [&](hlo::Instruction& x) {
      hlo::fill_reducer(x.add_region(), combiner_for(dtype), dtype);
    };
    const Tensor rows = testing::random_tensor(random, {DType::s32, {9, 1}}, -1, 5);
    EXPECT_EQ(testing::check({.opcode = Opcode::scatter,
                              .operands = {tensor({4, 17}), rows, tensor({9, 17})},
                              .attrs = hlo::ScatterAttrs{.update_window_dims = {1},
                                                         .inserted_window_dims = {0},
                                                         .scatter_dims_to_operand_dims = {0},
                                                         .index_vector_dim = 1},
                              .fill_regions = add},
                             {.ulps = 4}),
              "")
        << testing::words(dtype);
    const Tensor places = testing::random_tensor(random, {DType::s64, {3, 6, 2}}, -1, 4);
    EXPECT_EQ(testing::check({.opcode = Opcode::scatter,
                              .operands = {tensor({3, 4, 5}), places, tensor({3, 6, 2})},
                              .attrs = hlo::ScatterAttrs{.update_window_dims = {2},
                                                         .inserted_window_dims = {2},
                                                         .input_batching_dims = {0},
                                                         .scatter_indices_batching_dims = {0},
                                                         .scatter_dims_to_operand_dims = {2, 1},
                                                         .index_vector_dim = 2},
                              .fill_regions = add},
                             {.ulps = 4}),
              "")
        << testing::words(dtype);
  }
}

TEST(DataMovement, GeneratesRandomBits) {
  for (const hlo::RngAlgorithm algorithm :
       {hlo::RngAlgorithm::default_, hlo::RngAlgorithm::three_fry, hlo::RngAlgorithm::philox}) {
    for (const DType dtype :
         {DType::u4, DType::s4, DType::u8, DType::u32, DType::u64, DType::f32}) {
      for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 4}, Shape{3, 5, 7}}) {
        const Tensor state = Tensor::of<uint64_t>({2}, {0x123456789abcdefULL, ~uint64_t{0} - 3});
        // Bits of floats may be NaNs: they are compared as integers.
        const bool as_bits = dtype == DType::f32;
        const OpUnderTest op{.opcode = Opcode::rng_bit_generator,
                             .operands = {state},
                             .attrs = hlo::RngBitGeneratorAttrs{algorithm},
                             .declared = {state.type(), {as_bits ? DType::s32 : dtype, shape}}};
        EXPECT_EQ(testing::check(op), "") << testing::words(dtype, shape);
      }
    }
  }
}

// Enough bits for several threads, with the words of a block beside each other in every way.
TEST(DataMovement, GeneratesManyRandomBits) {
  for (const hlo::RngAlgorithm algorithm :
       {hlo::RngAlgorithm::three_fry, hlo::RngAlgorithm::philox}) {
    for (const Shape& shape : {Shape{40001}, Shape{2, 20001}, Shape{3, 5, 3001}, Shape{20000, 2}}) {
      const Tensor state = Tensor::of<uint64_t>({3}, {7, ~uint64_t{0} - 99, ~uint64_t{0}});
      const bool has_counter = algorithm == hlo::RngAlgorithm::philox;
      const Tensor words = has_counter ? state : Tensor::of<uint64_t>({2}, {7, ~uint64_t{0} - 99});
      EXPECT_EQ(testing::check(OpUnderTest{.opcode = Opcode::rng_bit_generator,
                                           .operands = {words},
                                           .attrs = hlo::RngBitGeneratorAttrs{algorithm},
                                           .declared = {words.type(), {DType::u32, shape}}}),
                "")
          << testing::words(shape);
    }
  }
}

// Enough of them for groups of blocks, single blocks and a part of one.
TEST(DataMovement, GeneratesRandomBitsOfEveryWidth) {
  const Tensor state = Tensor::of<uint64_t>({3}, {7, ~uint64_t{0} - 99, 3});
  for (const DType dtype : {DType::u8, DType::s16, DType::s32, DType::u64, DType::s4, DType::bf16,
                            DType::f32, DType::f64}) {
    EXPECT_EQ(
        testing::check(OpUnderTest{.opcode = Opcode::rng_bit_generator,
                                   .operands = {state},
                                   .attrs = hlo::RngBitGeneratorAttrs{hlo::RngAlgorithm::philox},
                                   .declared = {state.type(), {dtype, {1003}}}}),
        "")
        << dtype_info(dtype).name;
  }
}

}  // namespace
}  // namespace systole::cpu
