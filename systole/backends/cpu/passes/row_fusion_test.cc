#include "systole/backends/cpu/passes/row_fusion.h"

#include <gtest/gtest.h>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/codegen/thunks.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;

// x -> softmax over `axis`, through `middle` where it is given.
std::unique_ptr<hlo::Module> softmax(
    const Shape& shape, int64_t axis,
    const std::function<Value(hlo::Builder&, Value)>& middle = nullptr) {
  auto module = std::make_unique<hlo::Module>();
  hlo::Builder b(module->add_function("main"));
  const Value x = b.computation().add_parameter({DType::f32, shape});
  const Dims kept = {1 - axis};
  const Value greatest = b.reduce(x, Opcode::maximum, {axis});
  const Value e =
      b.unary(Opcode::exponential, b.subtract(x, b.broadcast_in_dim(greatest, shape, kept)));
  Value sum = b.reduce(e, Opcode::add, {axis});
  if (middle) sum = middle(b, sum);
  b.computation().set_results({b.divide(e, b.broadcast_in_dim(sum, shape, kept))});
  hlo::FusionPass().run(*module);
  return module;
}

int row_fusions(const hlo::Module& module) {
  int count = 0;
  for (const hlo::Instruction* x : module.entry().instructions()) count += is_row_fusion(*x);
  return count;
}

int fusions(const hlo::Module& module) {
  int count = 0;
  for (const hlo::Instruction* x : module.entry().instructions()) count += x->is(Opcode::fusion);
  return count;
}

TEST(RowFusion, MakesOneStepOfASoftmax) {
  const auto module = softmax({512, 1024}, 1);
  EXPECT_TRUE(RowFusionPass(has_native_code).run(*module));
  EXPECT_EQ(row_fusions(*module), 1);
  EXPECT_EQ(fusions(*module), 1) << hlo::print(*module);
  hlo::verify(*module);
  EXPECT_FALSE(RowFusionPass(has_native_code).run(*module));
}

// Returns the gradient of max pooling and a relu, summed up by feature, as in a layer.
std::unique_ptr<hlo::Module> pooling_gradient(const Shape& shape, const Dims& window,
                                              const Dims& strides) {
  auto module = std::make_unique<hlo::Module>();
  hlo::Builder b(module->add_function("main"));
  Dims pooled = shape.dims();
  for (size_t d = 0; d < pooled.size(); ++d) pooled[d] = (pooled[d] - window[d]) / strides[d] + 1;
  const Value x = b.computation().add_parameter({DType::f32, shape});
  const Value gradient = b.computation().add_parameter({DType::f32, Shape(pooled)});
  const Value zero = b.scalar(DType::f32, 0);
  hlo::Instruction* scatter = b.op_with_regions(
      Opcode::select_and_scatter, {x, gradient, zero},
      hlo::WindowAttrs{.window_dimensions = window,
                       .window_strides = strides,
                       .padding = std::vector<std::pair<int64_t, int64_t>>(pooled.size())},
      [](hlo::Instruction& self) {
        for (const Opcode opcode : {Opcode::compare, Opcode::add}) {
          hlo::Builder r(self.add_region());
          const Value left = r.computation().add_parameter({DType::f32, {}});
          const Value right = r.computation().add_parameter({DType::f32, {}});
          r.computation().set_results({opcode == Opcode::add
                                           ? r.add(left, right)
                                           : r.compare(left, right, hlo::ComparisonDirection::ge)});
        }
      });
  const Value zeros = b.broadcast_in_dim(zero, shape, {});
  const Value positive = b.compare(x, zeros, hlo::ComparisonDirection::gt);
  const Value by_layer = b.select(positive, scatter->result(), zeros);
  b.computation().set_results({by_layer, b.reduce(by_layer, Opcode::add, {0, 1, 2})});
  hlo::FusionPass().run(*module);
  return module;
}

TEST(RowFusion, TakesTheGradientOfPoolingImageByImage) {
  const auto module = pooling_gradient({8, 32, 32, 16}, {1, 2, 2, 1}, {1, 2, 2, 1});
  RandomStream random(61);
  const std::vector<Tensor> arguments = {
      testing::random_tensor(random, {DType::f32, {8, 32, 32, 16}}, -1, 1),
      testing::random_tensor(random, {DType::f32, {8, 16, 16, 16}}, -1, 1)};
  EXPECT_EQ(testing::check(*module, arguments, {.of_largest = 1e-5}), "");
  EXPECT_TRUE(RowFusionPass(has_native_code).run(*module));
  EXPECT_EQ(row_fusions(*module), 1);
  EXPECT_EQ(fusions(*module), 1) << hlo::print(*module);
  hlo::verify(*module);
  EXPECT_FALSE(RowFusionPass(has_native_code).run(*module));
  // Windows that overlap, and those over several images.
  EXPECT_FALSE(RowFusionPass(has_native_code)
                   .run(*pooling_gradient({8, 33, 33, 16}, {1, 3, 3, 1}, {1, 2, 2, 1})));
  EXPECT_FALSE(RowFusionPass(has_native_code)
                   .run(*pooling_gradient({8, 32, 32, 16}, {8, 2, 2, 1}, {8, 2, 2, 1})));
}

// A sum over all rows is whole after the last of them only, whatever the size of its own axes.
TEST(RowFusion, TakesNoGradientOfPoolingAtASumOfRows) {
  const auto module = hlo::parse(R"(
    func.func public @main(%t: tensor<16x16x32x32xf32>, %s: tensor<16x16x16xf32>) -> tensor<16x32x32xf32> {
      %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%t init: %least) applies stablehlo.maximum across dimensions = [1, 2, 3] : (tensor<16x16x32x32xf32>, tensor<f32>) -> tensor<16xf32>
      %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<16xf32>) -> tensor<16x16x32x32xf32>
      %d = stablehlo.subtract %t, %b : tensor<16x16x32x32xf32>
      %g = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x16x32x32xf32>, tensor<f32>) -> tensor<16x32x32xf32>
      %r = "stablehlo.select_and_scatter"(%g, %s, %zero) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }, {
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %c = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) {window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>} : (tensor<16x32x32xf32>, tensor<16x16x16xf32>, tensor<f32>) -> tensor<16x32x32xf32>
      return %r : tensor<16x32x32xf32>
    })");
  RandomStream random(62);
  const std::vector<Tensor> arguments = {
      testing::random_tensor(random, {DType::f32, {16, 16, 32, 32}}, -1, 1),
      testing::random_tensor(random, {DType::f32, {16, 16, 16}}, -1, 1)};
  EXPECT_EQ(testing::check(*module, arguments, {.of_largest = 1e-5}), "");
  hlo::FusionPass().run(*module);
  RowFusionPass(has_native_code).run(*module);
  EXPECT_TRUE(module->entry().results()[0].def->is(Opcode::select_and_scatter))
      << hlo::print(*module);
}

// tanh of complex elements has no native code: its reference value needs the whole array.
TEST(RowFusion, LeavesStepsWithoutNativeCode) {
  const auto module = hlo::parse(R"(
    func.func public @main(%x: tensor<128x1024xf32>) -> tensor<128x1024xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<128x1024xf32>, tensor<f32>) -> tensor<128xf32>
      %b = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<128xf32>) -> tensor<128x1024xf32>
      %c = stablehlo.complex %x, %b : tensor<128x1024xcomplex<f32>>
      %t = stablehlo.tanh %c : tensor<128x1024xcomplex<f32>>
      %r = stablehlo.real %t : (tensor<128x1024xcomplex<f32>>) -> tensor<128x1024xf32>
      %sums = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<128x1024xf32>, tensor<f32>) -> tensor<128xf32>
      %s = stablehlo.broadcast_in_dim %sums, dims = [0] : (tensor<128xf32>) -> tensor<128x1024xf32>
      %d = stablehlo.subtract %r, %s : tensor<128x1024xf32>
      return %d : tensor<128x1024xf32>
    })");
  RandomStream random(63);
  const Tensor x = testing::random_tensor(random, {DType::f32, {128, 1024}}, -0.001, 0.001);
  EXPECT_EQ(testing::check(*module, {{x}}, {.of_largest = 1e-4}), "");
  hlo::FusionPass().run(*module);
  RowFusionPass(has_native_code).run(*module);
  for (const hlo::Instruction* step : module->entry().instructions()) {
    if (!is_row_fusion(*step)) continue;
    for (const hlo::Instruction* inner : step->region().instructions())
      EXPECT_FALSE(inner->is(Opcode::tanh)) << hlo::print(*module);
  }
}

TEST(RowFusion, LeavesWhatItDoesNotPayFor) {
  EXPECT_FALSE(RowFusionPass(has_native_code).run(*softmax({16, 32}, 1)));      // in a cache anyway
  EXPECT_FALSE(RowFusionPass(has_native_code).run(*softmax({100000, 10}, 1)));  // short rows
  EXPECT_FALSE(RowFusionPass(has_native_code).run(*softmax({4, 1 << 20}, 1)));  // rows for no cache
  EXPECT_FALSE(RowFusionPass(has_native_code).run(*softmax({512, 1024}, 0)));   // columns
}

// What is between two members and mixes rows ends the group before it.
TEST(RowFusion, StopsWhereRowsMix) {
  const auto module = softmax({512, 1024}, 1, [](hlo::Builder& b, Value sum) {
    return b.op(Opcode::optimization_barrier, {b.reverse(sum, {0})})->result();
  });
  EXPECT_TRUE(RowFusionPass(has_native_code).run(*module));
  EXPECT_EQ(row_fusions(*module), 1);
  hlo::verify(*module);
  const auto& last = *module->entry().results()[0].def;
  EXPECT_FALSE(is_row_fusion(last)) << hlo::print(*module);
}

// Random bits are used where they are made; sums over all rows are taken on the way.
TEST(RowFusion, TakesInRandomBitsAndSumsOfColumns) {
  const Shape shape{512, 1024};
  hlo::Module module;
  hlo::Builder b(module.add_function("main"));
  const Value x = b.computation().add_parameter({DType::u32, shape});
  const Value state = b.computation().add_parameter({DType::u64, {3}});
  hlo::Instruction* rng =
      b.op(Opcode::rng_bit_generator, {state}, hlo::RngBitGeneratorAttrs{hlo::RngAlgorithm::philox},
           {state.type(), x.type()});
  const Value bits = b.binary(Opcode::and_, x, rng->result(1));
  const Value sums = b.reduce(b.unary(Opcode::not_, bits), Opcode::add, {0});
  b.computation().set_results({rng->result(0), bits, sums});
  hlo::FusionPass().run(module);
  EXPECT_TRUE(RowFusionPass(has_native_code).run(module));
  hlo::verify(module);
  EXPECT_EQ(row_fusions(module), 1);
  EXPECT_EQ(fusions(module), 1) << hlo::print(module);
}

}  // namespace
}  // namespace systole::cpu
