#include "systole/hlo/ir/budget.h"

#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/pass.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using systole::testing::error_of;

std::unique_ptr<Module> small() {
  return parse(R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %r = stablehlo.add %x, %x : tensor<3xf32>
    return %r : tensor<3xf32>
  })");
}

constexpr int64_t kLimit = Budget::kOps + 3 * Budget::kOpsEach;  // of the program above

TEST(Budget, CountsTheOpsThatExistAndNamesPassAndFunction) {
  const auto module = small();
  module->budget = std::make_shared<Budget>(*module);
  module->budget->start_pass("unroll");
  Builder b(module->entry(), module->entry().terminator());
  const auto add = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) b.scalar(DType::f32, 1);
  };
  add(kLimit - 3);
  const std::string limit = std::to_string(kLimit);
  EXPECT_EQ(error_of([&] { add(1); }), "RESOURCE_EXHAUSTED: unroll: ops at a time, got " +
                                           std::to_string(kLimit + 1) + ", expected at most " +
                                           limit + " of a program that had 3, in function 'main'");
  // Instructions that are gone do not count.
  for (Instruction* x : module->entry().instructions()) {
    if (x->is(Opcode::constant)) module->entry().erase(x);
  }
  add(kLimit - 3);
}

TEST(Budget, CountsTheOpsThatWereMade) {
  const auto module = small();
  module->budget = std::make_shared<Budget>(*module);
  Builder b(module->entry(), module->entry().terminator());
  int64_t made = 0;
  const auto churn = [&] {
    for (;; ++made) module->entry().erase(b.scalar(DType::f32, 1).def);
  };
  EXPECT_NE(error_of(churn).find("made by all passes"), std::string::npos);
  EXPECT_EQ(made, kLimit * Budget::kTurnover);
}

TEST(Budget, CountsManyOperandsAsSeveralOps) {
  const auto module = small();
  module->budget = std::make_shared<Budget>(*module);
  Builder b(module->entry(), module->entry().terminator());
  const Value x = module->entry().parameter(0);
  const auto join = [&](int64_t count) {
    b.concatenate(std::vector<Value>(static_cast<size_t>(count), x), 0);
  };
  join(4 * kLimit);
  EXPECT_NE(error_of([&] { join(4 * kLimit); }).find("ops at a time"), std::string::npos);
}

TEST(Budget, LimitsConstantsByThoseOfTheProgram) {
  const auto module = small();
  Budget budget(*module);
  const int64_t limit = Budget::kConstantBytes + 3 * Budget::kConstantBytesEach;
  EXPECT_FALSE(budget.take_constant(limit + 1));
  EXPECT_TRUE(budget.take_constant(limit));
  EXPECT_FALSE(budget.take_constant(1));
}

TEST(Budget, OfAPipelineEndsWithIt) {
  class Grow : public Pass {
   public:
    std::string_view name() const override { return "grow"; }
    bool run(Module& module) override {
      Builder b(module.entry(), module.entry().terminator());
      for (;;) b.scalar(DType::f32, 1);
    }
  };
  const auto module = small();
  Pipeline pipeline("test");
  pipeline.add<Grow>();
  EXPECT_NE(error_of([&] { pipeline.run(*module); }).find("RESOURCE_EXHAUSTED: grow: ops"),
            std::string::npos);
  EXPECT_EQ(module->budget, nullptr);
}

TEST(Regions, AreNestedToALimit) {
  Module module;
  Computation* at = &module.add_function("main");
  const auto deepen = [&] {
    for (;;) at = &at->insert(Opcode::if_, {}, {})->add_region();
  };
  EXPECT_NE(error_of(deepen).find("RESOURCE_EXHAUSTED: if: regions, got more than 128 levels"),
            std::string::npos);
  EXPECT_EQ(at->depth(), kMaxRegionDepth);
}

}  // namespace
}  // namespace systole::hlo
