// The kernels of small programs, and the memory that they need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "systole/hlo/tpu_model/kernels.h"
#include "systole/hlo/tpu_model/step_memory.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using ::testing::ElementsAre;

constexpr double kMega = 1024 * 1024;

std::vector<std::string> roots_of(const Module& module) {
  std::vector<std::string> roots;
  for (const Kernel& kernel : make_kernels(module.entry()))
    roots.emplace_back(to_string(kernel.root->opcode()));
  return roots;
}

// x w, ReLU, and the update of w by its gradient.
constexpr const char* kLayer = R"(
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %h = stablehlo.maximum %y, %zeros : tensor<1024x1024xf32>
  %g = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %u = stablehlo.subtract %w, %g : tensor<1024x1024xf32>
  return %u, %h : tensor<1024x1024xf32>, tensor<1024x1024xf32>
})";

TEST(Kernels, have_what_is_element_wise_on_the_way) {
  const auto program = tpu_program(*parse(kLayer));
  EXPECT_THAT(roots_of(*program), ElementsAre("dot_general", "dot_general"));
  const std::vector<Kernel> kernels = make_kernels(program->entry());
  // The update writes over the weights.
  ASSERT_EQ(kernels[1].writes.size(), 1U);
  EXPECT_EQ(kernels[1].computed.size(), 2U);
  EXPECT_EQ(kernels[1].cost.product_flops, 2.0 * 1024 * 1024 * 1024);
}

TEST(Kernels, round_what_only_products_read) {
  const auto program = tpu_program(*parse(R"(
func.func @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
})"));
  const std::vector<Kernel> kernels = make_kernels(program->entry());
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].writes.at(0).type.dtype, DType::bf16);
  EXPECT_EQ(kernels[1].writes.at(0).type.dtype, DType::f32);
}

// Writes one row of 100 a turn.
constexpr const char* kLoop = R"(
func.func @main(%x: tensor<100x1024xf32>) -> tensor<100x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<100x1024xf32>
    cond {
      %n = stablehlo.constant dense<100> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %o = stablehlo.constant dense<1> : tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %s = stablehlo.dynamic_slice %a, %i, %z, sizes = [1, 1024] : (tensor<100x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1024xf32>
      %t = stablehlo.tanh %s : tensor<1x1024xf32>
      %u = stablehlo.dynamic_update_slice %a, %t, %i, %z : (tensor<100x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<100x1024xf32>
      %j = stablehlo.add %i, %o : tensor<i32>
      stablehlo.return %j, %u : tensor<i32>, tensor<100x1024xf32>
    }
  return %r#1 : tensor<100x1024xf32>
})";

// What a barrier holds back is not computed with the array that it reads, long before.
TEST(Kernels, wait_for_barriers) {
  const auto program = tpu_program(*parse(R"(
func.func @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %z = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %held:2 = stablehlo.optimization_barrier %y, %z : tensor<256x256xf32>, tensor<256x256xf32>
  %0 = stablehlo.multiply %held#0, %x : tensor<256x256xf32>
  %1 = stablehlo.dot_general %0, %held#1, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
})"));
  EXPECT_THAT(roots_of(*program),
              ElementsAre("dot_general", "dot_general", "multiply", "dot_general", "dot_general"));
}

TEST(Kernels, of_a_loop_touch_their_slice_alone) {
  const auto program = tpu_program(*parse(kLoop));
  const std::vector<Kernel> kernels = make_kernels(program->entry());
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].trips, 100);
  ASSERT_NE(kernels[0].loop, nullptr);
  double bytes = 0;
  for (const Kernel& kernel : make_kernels(*kernels[0].loop)) {
    for (const KernelArray& array : kernel.reads) bytes += array.bytes(array_bytes);
    for (const KernelArray& array : kernel.writes) bytes += array.bytes(array_bytes);
  }
  EXPECT_GE(bytes, 2 * 1024 * 4);
  EXPECT_LE(bytes, 3 * 1024 * 4);
}

TEST(StepMemory, counts_what_is_written_in_place_once) {
  const auto program = tpu_program(*parse(kLayer));
  const StepMemory memory = step_memory(*program);
  EXPECT_EQ(memory.parameters, 8 * kMega);
  EXPECT_EQ(memory.temporaries, 4 * kMega) << "the ReLU's result";
  ASSERT_EQ(memory.largest.size(), 1U);
  EXPECT_EQ(memory.largest[0].bytes, 4 * kMega);
}

// Eight activations, each read again in the opposite order.
std::string forward_and_back() {
  const std::string type = "tensor<1024x1024xf32>";
  std::string text = "func.func @main(%x0: " + type + ", %w: " + type + ") -> " + type + " {\n";
  const auto product = [&](const std::string& name, const std::string& a, const std::string& b) {
    text += "  " + name + " = stablehlo.dot_general " + a + ", " + b +
            ", contracting_dims = [1] x [0] : (" + type + ", " + type + ") -> " + type + "\n";
  };
  constexpr int kLayers = 8;
  for (int i = 1; i <= kLayers; ++i) {
    const std::string n = std::to_string(i);
    product("%y" + n, "%x" + std::to_string(i - 1), "%w");
    text += "  %x" + n + " = stablehlo.tanh %y" + n + " : " + type + "\n";
  }
  std::string last = "%x8";
  for (int i = kLayers - 1; i >= 1; --i) {
    const std::string n = std::to_string(i);
    product("%p" + n, last, "%w");
    text += "  %g" + n + " = stablehlo.multiply %p" + n + ", %x" + n + " : " + type + "\n";
    last = "%g" + n;
  }
  return text + "  return " + last + " : " + type + "\n}";
}

TEST(StepMemory, computes_again_what_does_not_fit) {
  const auto program = tpu_program(*parse(forward_and_back()));
  const StepMemory all = step_memory(*program);
  EXPECT_TRUE(all.recomputed.empty());
  EXPECT_GE(all.temporaries, 7 * 4 * kMega);
  const double limit = all.total() - 10 * kMega;
  const StepMemory less = step_memory(*program, array_bytes, {.limit = limit});
  EXPECT_FALSE(less.recomputed.empty());
  EXPECT_LE(less.total(), limit);
}

// The f32 logits of the gather are an array beside the bf16 ones.
TEST(Kernels, make_what_a_gather_reads_from) {
  const auto program = tpu_program(*parse(R"(
func.func @main(%x: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>, %i: tensor<1024x2xi32>) -> (tensor<1024xf32>, tensor<1024x1024xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = stablehlo.convert %0 : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
  %2 = "stablehlo.gather"(%1, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false} : (tensor<1024x1024xf32>, tensor<1024x2xi32>) -> tensor<1024xf32>
  %3 = stablehlo.exponential %1 : tensor<1024x1024xf32>
  return %2, %3 : tensor<1024xf32>, tensor<1024x1024xf32>
})"));
  double scratch = 0;
  for (const Kernel& kernel : make_kernels(program->entry())) {
    for (const KernelArray& array : kernel.scratch) scratch += array.bytes(array_bytes);
  }
  EXPECT_EQ(scratch, 4 * kMega);
}

// Batch and features: what stands for bytes here are the elements of the larger one.
TEST(Kernels, tile_batch_and_features_of_convolutions) {
  const auto program = tpu_program(*parse(R"(
func.func @main(%x: tensor<16x32x32x8xf32>, %k: tensor<3x3x8x24xf32>) -> tensor<16x32x32x24xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x32x32x8xf32>, tensor<3x3x8x24xf32>) -> tensor<16x32x32x24xf32>
  return %0 : tensor<16x32x32x24xf32>
})"));
  const std::vector<Kernel> kernels = make_kernels(program->entry());
  ASSERT_EQ(kernels.size(), 1U);
  const auto larger = [](const TensorType& type) {
    return static_cast<double>(std::max(type.shape[0], type.shape[1]));
  };
  EXPECT_EQ(kernels[0].writes.at(0).bytes(larger), 32.0 * 32 * 24);
  EXPECT_EQ(kernels[0].reads.at(0).bytes(larger), 32.0 * 32 * 16);
}

constexpr const char* kTable = R"(
func.func @main(%t: tensor<ROWSx64xf32>, %i: tensor<4096x1xi32>) -> tensor<4096x64xf32> {
  %0 = "stablehlo.gather"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>, indices_are_sorted = false} : (tensor<ROWSx64xf32>, tensor<4096x1xi32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
})";

double copies_of_table(const std::string& rows) {
  std::string text = kTable;
  for (size_t at = text.find("ROWS"); at != std::string::npos; at = text.find("ROWS"))
    text.replace(at, 4, rows);
  const auto program = tpu_program(*parse(text));
  double copies = 0;
  for (const Kernel& kernel : make_kernels(program->entry())) {
    for (const KernelArray& array : kernel.copies) copies += array.bytes(array_bytes);
  }
  return copies;
}

TEST(Kernels, copy_narrow_tables_of_which_they_gather_many_rows) {
  EXPECT_EQ(copies_of_table("100000"), 4.0 * 100000 * 128);
  EXPECT_EQ(copies_of_table("10000000"), 0);
}

}  // namespace
}  // namespace systole::hlo
