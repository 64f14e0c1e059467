#include "systole/hlo/passes/dedupe_loop_state.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"

namespace systole::hlo {
namespace {

// for (i = 0; i < 3; ++i) (a, b, c) = (first, second, third), functions of (a, b, c), which begin
// as (x, x, y). Returns the number of values that the loop carries in the end, 0 if nothing
// changed.
int carried(const std::function<std::vector<Value>(Builder&, Value, Value, Value)>& step) {
  Module module;
  Computation& main = module.add_function("main");
  const TensorType type{DType::f32, {10}};
  const Value x = main.add_parameter(type);
  const Value y = main.add_parameter(type);
  Builder b(main);
  const std::vector<Value> initial = {b.scalar(DType::s32, 0), x, x, y};
  Instruction* loop = b.op_with_regions(Opcode::while_, initial, NoAttrs{}, [&](Instruction& op) {
    for (int r = 0; r < 2; ++r) {
      Computation& region = op.add_region();
      std::vector<Value> p;
      for (const Value& value : initial) p.push_back(region.add_parameter(value.type()));
      Builder inner(region);
      if (r == 0) {
        region.set_results(
            {inner.compare(p[0], inner.scalar(DType::s32, 3), ComparisonDirection::lt)});
        continue;
      }
      std::vector<Value> next = step(inner, p[1], p[2], p[3]);
      next.insert(next.begin(), inner.add(p[0], inner.scalar(DType::s32, 1)));
      region.set_results(next);
    }
  });
  main.set_results({loop->result(1), loop->result(2), loop->result(3)});
  const auto before = module.clone();
  const bool changed = DedupeLoopState().run(module);
  verify(module);
  EXPECT_EQ(testing::run_difference(*before, module, 1, true), "");
  EXPECT_FALSE(DedupeLoopState().run(module));
  DeadCodeElimination().run(module);
  verify(module);
  return changed ? main.results()[0].def->num_results() : 0;
}

TEST(MergeCarriedTest, MergesTheOutputAndTheState) {
  EXPECT_EQ(carried([](Builder& b, Value output, Value state, Value other) {
              const Value next = b.add(state, other);
              return std::vector<Value>{next, next, b.multiply(output, other)};
            }),
            3);
}

TEST(MergeCarriedTest, MergesWhatIsExchanged) {
  EXPECT_EQ(carried([](Builder&, Value first, Value second, Value other) {
              return std::vector<Value>{second, first, other};
            }),
            3);
}

TEST(MergeCarriedTest, LeavesWhatTheBodySetsDifferently) {
  EXPECT_EQ(carried([](Builder& b, Value first, Value second, Value other) {
              return std::vector<Value>{b.add(first, other), b.multiply(second, other), other};
            }),
            0);
}

TEST(MergeCarriedTest, LeavesOtherBeginnings) {
  EXPECT_EQ(carried([](Builder& b, Value first, Value, Value other) {
              const Value next = b.negate(first);
              return std::vector<Value>{next, b.add(first, other), next};
            }),
            0);
}

}  // namespace
}  // namespace systole::hlo
