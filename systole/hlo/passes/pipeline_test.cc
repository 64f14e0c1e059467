#include "systole/hlo/passes/pipeline.h"

#include <gtest/gtest.h>

#include "systole/base/error.h"
#include "systole/hlo/passes/algebraic_simplifier.h"
#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/passes/constant_folding.h"
#include "systole/hlo/passes/cse.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/loop_invariant_code_motion.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

using testing::random_module;
using testing::RandomModuleOptions;

constexpr uint64_t kSeeds = 150;

// Without bf16, whose products one rule sums in another width.
const RandomModuleOptions kToTheBit{.dtypes = {DType::f32, DType::f64}};

// What `rewrite` does to random programs: "" when they stay valid and compute the same to the bit.
template <class F>
std::string differences(F&& rewrite) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto before = random_module(seed, kToTheBit).module;
    const auto after = before->clone();
    try {
      rewrite(*after);
      verify(*after);
      const std::string text = testing::run_difference(*before, *after, seed, false);
      if (!text.empty()) return fmt::format("seed {}: {}", seed, text);
    } catch (const Error& error) {
      return fmt::format("seed {}: {}", seed, error.what());
    }
  }
  return "";
}

// A pass that says it changed nothing changed nothing, and a second run of it finds little to do.
template <class P>
std::string differences_of_pass() {
  return differences([](Module& module) {
    const std::string text = print(module);
    if (!P().run(module) && print(module) != text) throw internal_error("changed, got false");
  });
}

// Whether the optimizer keeps a loop that carries x, which nothing changes and the program returns,
// and a counter j from 0. `condition` defines %t, and `step` %k, the next j.
bool keeps_loop(const std::string& condition, const std::string& step) {
  const auto module = parse(R"(
    func.func public @main(%x: tensor<i32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %x, %j = %zero) : tensor<i32>, tensor<i32>
        cond {
          %t = stablehlo.)" +
                            condition + R"(
          stablehlo.return %t : tensor<i1>
        } do {
          %k = stablehlo.)" +
                            step +
                            R"( : tensor<i32>
          stablehlo.return %i, %k : tensor<i32>, tensor<i32>
        }
      return %r#0 : tensor<i32>
    })");
  optimize(*module);
  verify(*module);
  return std::ranges::any_of(module->entry().instructions(),
                             [](const Instruction* x) { return x->is(Opcode::while_); });
}

// Without the loop the program would end, with a value that it never returns.
TEST(Passes, KeepLoopsThatMayBeEndless) {
  const auto compare = [](const std::string& what) {
    return "compare " + what + " : (tensor<i32>, tensor<i32>) -> tensor<i1>";
  };
  EXPECT_TRUE(keeps_loop(compare("LT, %zero, %one"), "add %j, %one"));
  EXPECT_TRUE(keeps_loop(compare("NE, %j, %i"), "add %j, %one"));
  EXPECT_TRUE(keeps_loop(compare("NE, %i, %zero"), "add %j, %one"));
  EXPECT_TRUE(keeps_loop(compare("LT, %j, %i"), "subtract %j, %one"));
  EXPECT_TRUE(keeps_loop(compare("GT, %j, %x"), "add %one, %j"));
  EXPECT_TRUE(keeps_loop(compare("LT, %j, %i"), "multiply %j, %one"));
  EXPECT_FALSE(keeps_loop(compare("LT, %j, %i"), "add %j, %one"));
  EXPECT_FALSE(keeps_loop(compare("GE, %x, %j"), "add %one, %j"));
  EXPECT_FALSE(keeps_loop(compare("GT, %j, %i"), "subtract %j, %one"));
}

TEST(Passes, KeepRandomPrograms) {
  EXPECT_EQ(differences_of_pass<DeadCodeElimination>(), "");
  EXPECT_EQ(differences_of_pass<CommonSubexpressionElimination>(), "");
  EXPECT_EQ(differences_of_pass<ConstantFolding>(), "");
  EXPECT_EQ(differences_of_pass<AlgebraicSimplifier>(), "");
  EXPECT_EQ(differences_of_pass<InlineCalls>(), "");
  EXPECT_EQ(differences_of_pass<LoopInvariantCodeMotion>(), "");
}

TEST(Rules, Terminate) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto module = random_module(seed).module;
    EXPECT_FALSE(apply_rules(*module, all_rules()).exhausted) << seed;
    EXPECT_TRUE(apply_rules(*module, all_rules()).fired.empty()) << seed;
  }
}

TEST(Optimize, KeepsRandomProgramsToTheBit) {
  EXPECT_EQ(differences([](Module& module) { optimize(module, {.verify = true}); }), "");
}

TEST(Optimize, KeepsRandomProgramsOfAllDtypes) {
  for (uint64_t seed = 1000; seed < 1000 + kSeeds; ++seed) {
    const auto random = random_module(seed);
    const auto optimized = random.module->clone();
    optimize(*optimized, {.verify = true});
    const auto arguments = testing::random_arguments(*random.module, seed);
    const auto expected = Evaluator().run(random.module->entry(), arguments);
    const auto got = Evaluator().run(optimized->entry(), arguments);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(testing::difference(got[i], expected[i], random.tolerances[i]), "") << seed;
    }
  }
}

TEST(Optimize, IsDeterministicAndIdempotent) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto a = random_module(seed).module;
    const auto b = random_module(seed).module;
    optimize(*a, {});
    optimize(*b, {});
    EXPECT_EQ(print(*a), print(*b)) << seed;
    optimize(*b, {});
    EXPECT_EQ(print(*a), print(*b)) << seed;
  }
}

}  // namespace
}  // namespace systole::hlo
