#include "systole/backends/cpu/passes/update_fusion.h"

#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Builder;
using hlo::Opcode;
using hlo::Value;

const TensorType kUpdatedStack{DType::f32, {5, 2, 7}};
const TensorType kUpdatedRow{DType::f32, {1, 2, 7}};
const TensorType kUpdateIndex{DType::s32, {}};

struct UpdateProgram {
  hlo::Module module;
  Builder b{module.add_function("main")};
  Value stack = b.computation().add_parameter(kUpdatedStack);
  Value row = b.computation().add_parameter(kUpdatedRow);
  Value index = b.computation().add_parameter(kUpdateIndex);
  Value zero = b.scalar(DType::s32, 0);

  Value computed() { return b.multiply(b.add(row, row), row); }
  Value put(const Value& into, const Value& part) {
    return b.dynamic_update_slice(into, part, std::vector{index, zero, zero});
  }

  // Fuses, and runs the pass. Returns how many updates are left outside of fusions.
  int64_t left(const std::vector<Value>& results) {
    b.computation().set_results(results);
    hlo::FusionPass().run(module);
    RandomStream random(83);
    const std::vector<Tensor> arguments = {testing::random_tensor(random, kUpdatedStack, -1, 1),
                                           testing::random_tensor(random, kUpdatedRow, -1, 1),
                                           Tensor::of<int32_t>({}, {3})};
    const std::vector<Tensor> want = hlo::Evaluator().run(module.entry(), arguments);
    UpdateFusion().run(module);
    hlo::verify(module);
    const std::vector<Tensor> got = hlo::Evaluator().run(module.entry(), arguments);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(testing::difference(got[i], want[i], {}), "") << hlo::print(module);
    EXPECT_FALSE(UpdateFusion().run(module));
    return std::ranges::count_if(module.entry().instructions(), [](const hlo::Instruction* x) {
      return x->is(Opcode::dynamic_update_slice);
    });
  }
};

TEST(UpdateFusion, JoinsAnUpdateToWhatComputesIt) {
  UpdateProgram p;
  EXPECT_EQ(p.left({p.put(p.stack, p.computed())}), 0);
}

TEST(UpdateFusion, KeepsAPartThatOthersRead) {
  UpdateProgram p;
  const Value part = p.computed();
  EXPECT_EQ(p.left({p.put(p.stack, part), part}), 0);
}

TEST(UpdateFusion, KeepsAReshapeThatOthersRead) {
  UpdateProgram p;
  const Value part = p.b.reshape(p.b.reshape(p.computed(), Shape{14}), kUpdatedRow.shape);
  EXPECT_EQ(p.left({p.put(p.stack, part), part}), 0);
}

// The array would have to be copied.
TEST(UpdateFusion, LeavesAnArrayThatIsReadLater) {
  UpdateProgram p;
  const Value part = p.computed();
  const Value sum = p.b.reduce(
      p.b.multiply(p.stack, p.b.broadcast_in_dim(p.b.reduce(part, Opcode::maximum, {0, 1, 2}),
                                                 kUpdatedStack.shape, {})),
      Opcode::add, {0});
  EXPECT_EQ(p.left({p.put(p.stack, part), sum}), 1);
}

TEST(UpdateFusion, LeavesAPartThatIsNotContiguous) {
  UpdateProgram p;
  const TensorType column{DType::f32, {5, 1, 7}};
  const Value part = p.b.broadcast_in_dim(
      p.b.reshape(p.b.slice(p.computed(), {0, 0, 0}, {1, 1, 7}), Shape{7}), column.shape, {2});
  EXPECT_EQ(p.left({p.put(p.stack, p.b.add(part, part))}), 1);
}

}  // namespace
}  // namespace systole::cpu
