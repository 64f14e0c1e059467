#include "systole/hlo/testing/random_module.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo::testing {
namespace {

constexpr uint64_t kSeeds = 60;

void collect_opcodes(const Computation& computation, std::set<Opcode>& opcodes) {
  for (const Instruction* instruction : computation.instructions()) {
    opcodes.insert(instruction->opcode());
    for (const auto& region : instruction->regions()) collect_opcodes(*region, opcodes);
  }
}

TEST(RandomModule, IsValidAndTame) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const RandomModule random = random_module(seed);
    verify(*random.module);
    const auto results =
        Evaluator().run(random.module->entry(), random_arguments(*random.module, seed));
    ASSERT_EQ(results.size(), random.tolerances.size());
    for (const Tensor& result : results) {
      for (int64_t i = 0; i < result.num_elements(); ++i) {
        EXPECT_TRUE(std::isfinite(result.as_double(i))) << result.to_string();
        const bool small = std::abs(result.as_double(i)) < 1e5;
        EXPECT_TRUE(small || !is_floating(result.dtype())) << result.to_string();
      }
    }
  }
}

TEST(RandomModule, IsAFunctionOfItsSeed) {
  EXPECT_EQ(print(*random_module(7).module), print(*random_module(7).module));
  EXPECT_NE(print(*random_module(7).module), print(*random_module(8).module));
}

TEST(RandomModule, HoldsNearlyAllOpcodes) {
  std::set<Opcode> opcodes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomModule random = random_module(seed);
    for (const auto& function : random.module->functions()) collect_opcodes(*function, opcodes);
  }
  std::string missing;
  for (int i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (opcodes.contains(opcode) || traits(opcode).has(kContextual)) continue;
    missing += std::string(to_string(opcode)) + " ";
  }
  // fusion is made by a pass; the bits of a NaN are nobody's business; windows of two kinds are
  // enough; there are no complex numbers; quantized programs are random_quantized_program's; the
  // rest no rewrite looks at.
  EXPECT_EQ(missing,
            "fusion composite imag real complex "
            "bitcast_convert get_dimension_size map select_and_scatter batch_norm_grad "
            "batch_norm_inference batch_norm_training cholesky fft triangular_solve after_all "
            "uniform_dequantize uniform_quantize ");
}

TEST(RandomModule, RoundTripsThroughText) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomModule random = random_module(seed);
    const std::string text = print(*random.module);
    EXPECT_EQ(print(*parse(text)), text) << seed;
    const std::string pretty = print(*random.module, {.pretty = true});
    EXPECT_EQ(print(*parse(pretty)), text) << seed;
    EXPECT_EQ(print(*parse(pretty), {.pretty = true}), pretty) << seed;
  }
}

TEST(RandomModule, OptionsLeaveThingsOut) {
  const RandomModuleOptions plain{.dtypes = {DType::f64},
                                  .transcendental = false,
                                  .windows = false,
                                  .control_flow = false,
                                  .calls = false,
                                  .random_bits = false};
  std::set<Opcode> opcodes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomModule random = random_module(seed, plain);
    verify(*random.module);
    EXPECT_EQ(random.module->functions().size(), 1U);
    collect_opcodes(random.module->entry(), opcodes);
  }
  for (const Opcode opcode :
       {Opcode::tanh, Opcode::convolution, Opcode::while_, Opcode::rng_bit_generator}) {
    EXPECT_FALSE(opcodes.contains(opcode)) << to_string(opcode);
  }
}

TEST(Difference, SeesTypesElementsAndTolerance) {
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(difference(x, Tensor::of<float>({2}, {1, 2}), 0), "");
  EXPECT_EQ(difference(x, Tensor::of<float>({2}, {1, 2.25F}), 0.25), "");
  EXPECT_EQ(difference(x, Tensor::of<float>({2}, {1, 2.5F}), 0.25),
            "element 1 of f32[2]: got 2, expected 2.5, tolerance 0.25");
  EXPECT_EQ(difference(x, Tensor(1.0F), 0), "got type f32[2], expected f32[]");
  EXPECT_EQ(difference(Tensor(-0.0F), Tensor(0.0F), 0), "");
  EXPECT_NE(difference(Tensor(std::nanf("")), Tensor(0.0F), 1), "");
}

}  // namespace
}  // namespace systole::hlo::testing
