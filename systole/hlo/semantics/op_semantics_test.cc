#include "systole/hlo/semantics/op_semantics.h"

#include <gtest/gtest.h>

#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using testing::error_of;

// The folder hlo/ops and opcodes.def list the same names.
TEST(OpSemanticsTest, EveryOpcodeHasItsFile) {
  for (int i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(error_of([&] { (void)semantics_of(opcode); }), "no error");
  }
  EXPECT_EQ(all_semantics().size(), static_cast<size_t>(kNumOpcodes));
  for (const NamedSemantics& row : all_semantics()) {
    EXPECT_TRUE(opcode_from_name(row.name)) << row.name;
    EXPECT_NE(row.semantics->infer, nullptr) << row.name;
  }
}

TEST(OpSemanticsTest, OnlyStructureHasNoValue) {
  for (int i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const bool structure = opcode == Opcode::parameter || opcode == Opcode::return_;
    EXPECT_EQ(semantics_of(opcode).evaluate == nullptr, structure) << to_string(opcode);
  }
}

TEST(OpSemanticsTest, PropertiesAgreeWithTraits) {
  for (int i = 0; i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    SCOPED_TRACE(to_string(opcode));
    if (semantics_of(opcode).moves_elements) {
      EXPECT_TRUE(traits(opcode).has(kIndexed));
      EXPECT_EQ(quantization_of(opcode).form, QuantizedForm::moves);
    }
    if (across_replicas(opcode) != AcrossReplicas::by_operands) {
      EXPECT_TRUE(traits(opcode).has(kContextual));
    }
  }
}

TEST(OpSemanticsTest, DefaultsOfProperties) {
  EXPECT_EQ(quantization_of(Opcode::tan).form, QuantizedForm::real);
  EXPECT_FALSE(quantization_of(Opcode::tan).per_axis);
  EXPECT_EQ(quantization_of(Opcode::sort).form, QuantizedForm::none);
  EXPECT_EQ(across_replicas(Opcode::sort), AcrossReplicas::by_operands);
  EXPECT_EQ(across_replicas(Opcode::replica_id), AcrossReplicas::one_each);
}

TEST(OpSemanticsTest, Counts) {
  const auto error = [](Opcode opcode, size_t operands) {
    Module module;
    Computation& main = module.add_function("main");
    const std::vector<Value> values(operands, main.add_parameter({DType::f32, {}}));
    const Attrs attrs;
    return error_of([&] {
      infer_types(
          {.opcode = opcode, .operands = values, .attrs = attrs, .regions = {}, .declared = {}});
    });
  };
  EXPECT_EQ(error(Opcode::negate, 2),
            "INVALID_ARGUMENT: negate: number of operands, got 2, expected 1");
  EXPECT_EQ(error(Opcode::reduce, 1),
            "INVALID_ARGUMENT: reduce: number of operands, got 1, expected at least 2");
  EXPECT_EQ(error(Opcode::while_, 1),
            "INVALID_ARGUMENT: while: number of regions, got 0, expected 2");
}

}  // namespace
}  // namespace systole::hlo
