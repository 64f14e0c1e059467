#include "systole/backends/cpu/passes/row_fusion.h"

#include <gtest/gtest.h>

#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/hlo/builder.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/text.h"
#include "systole/hlo/verifier.h"

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
  EXPECT_TRUE(RowFusionPass().run(*module));
  EXPECT_EQ(row_fusions(*module), 1);
  EXPECT_EQ(fusions(*module), 1) << hlo::print(*module);
  hlo::verify(*module);
  EXPECT_FALSE(RowFusionPass().run(*module));
}

TEST(RowFusion, LeavesWhatItDoesNotPayFor) {
  EXPECT_FALSE(RowFusionPass().run(*softmax({16, 32}, 1)));      // in a cache anyway
  EXPECT_FALSE(RowFusionPass().run(*softmax({100000, 10}, 1)));  // short rows
  EXPECT_FALSE(RowFusionPass().run(*softmax({4, 1 << 20}, 1)));  // rows for no cache
  EXPECT_FALSE(RowFusionPass().run(*softmax({512, 1024}, 0)));   // columns
}

// What is between two members and mixes rows ends the group before it.
TEST(RowFusion, StopsWhereRowsMix) {
  const auto module = softmax({512, 1024}, 1, [](hlo::Builder& b, Value sum) {
    return b.op(Opcode::optimization_barrier, {b.reverse(sum, {0})})->result();
  });
  EXPECT_TRUE(RowFusionPass().run(*module));
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
  EXPECT_TRUE(RowFusionPass().run(module));
  hlo::verify(module);
  EXPECT_EQ(row_fusions(module), 1);
  EXPECT_EQ(fusions(module), 1) << hlo::print(module);
}

}  // namespace
}  // namespace systole::cpu
