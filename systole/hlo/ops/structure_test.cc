// Structure, leaves and control flow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::OpUnderTest;
using testing::run_op;

const TensorType kF32{DType::f32, {}};
const TensorType kS32{DType::s32, {}};

// -- Leaves

TEST(ConstantTest, Value) {
  const Tensor value = Tensor::of<float>({2}, {1, 2});
  EXPECT_TRUE(run_op({.opcode = Opcode::constant, .operands = {}, .attrs = ConstantAttrs{value}})[0]
                  .identical(value));
}

TEST(ConstantTest, C1TypeOfValue) {
  EXPECT_THAT(error_of({.opcode = Opcode::constant,
                        .operands = {},
                        .attrs = ConstantAttrs{Tensor(1.0F)},
                        .declared = {kS32}}),
              HasSubstr("constant: declared result types, got (s32[]), expected (f32[])"));
  EXPECT_THAT(
      error_of(
          {.opcode = Opcode::constant, .operands = {}, .attrs = ConstantAttrs{Tensor("text")}}),
      HasSubstr("constant: element type, got string, expected a numeric one"));
}

Tensor run_iota(TensorType type, int64_t dimension) {
  return run_op({.opcode = Opcode::iota,
                 .operands = {},
                 .attrs = IotaAttrs{dimension},
                 .declared = {std::move(type)}})[0];
}

TEST(IotaTest, Values) {
  for (int d = static_cast<int>(DType::s2); d <= static_cast<int>(DType::c128); ++d) {
    const auto dtype = static_cast<DType>(d);
    const Tensor rows = Tensor::of<int32_t>({2, 3}, {0, 0, 0, 1, 1, 1}).cast(dtype);
    const Tensor columns = Tensor::of<int32_t>({2, 3}, {0, 1, 2, 0, 1, 2}).cast(dtype);
    EXPECT_TRUE(run_iota({dtype, {2, 3}}, 0).identical(rows));
    EXPECT_TRUE(run_iota({dtype, {2, 3}}, 1).identical(columns));
  }
  EXPECT_EQ(run_iota({DType::s8, {300}}, 0).as_double(299), 43);  // wraps
  EXPECT_EQ(run_iota({DType::s32, {0, 3}}, 1).num_elements(), 0);
}

TEST(IotaTest, C1Dimension) {
  const auto error = [](TensorType type, int64_t dimension) {
    return error_of([&] { run_iota(type, dimension); });
  };
  EXPECT_THAT(error({DType::s32, {2}}, 1),
              HasSubstr("iota: iota_dimension, got 1, expected in [0, 1)"));
  EXPECT_THAT(error({DType::s32, {2}}, -1), HasSubstr("iota: iota_dimension, got -1"));
  EXPECT_THAT(error(kS32, 0), HasSubstr("expected in [0, 0)"));
  EXPECT_THAT(error({DType::pred, {2}}, 0), HasSubstr("iota: element type, got pred"));
}

// -- Structure

TEST(ParameterTest, NeedsAStaticShape) {
  EXPECT_THAT(error_of({.opcode = Opcode::parameter,
                        .operands = {},
                        .declared = {TensorType{DType::f32, {kUnknown}}}}),
              HasSubstr("parameter: type, got f32[?], expected a static shape"));
}

TEST(FusionTest, RunsItsRegion) {
  const auto fill = [](Instruction& op) {
    Computation& region = op.add_region();
    const Value x = region.add_parameter(kF32);
    Builder b(region);
    const Value doubled = b.add(x, x);
    region.set_results({doubled, b.negate(doubled)});
  };
  const auto results =
      run_op({.opcode = Opcode::fusion, .operands = {Tensor(3.0F)}, .fill_regions = fill});
  EXPECT_EQ(results[0].item<float>(), 6);
  EXPECT_EQ(results[1].item<float>(), -6);
  EXPECT_THAT(error_of({.opcode = Opcode::fusion, .operands = {Tensor(3)}, .fill_regions = fill}),
              HasSubstr("fusion: parameter types of the region, got (f32[]), expected (s32[])"));
}

class CallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Value x = callee_.add_parameter(kF32);
    callee_.set_results({Builder(callee_).negate(x)});
  }

  Module module_;
  Computation& main_ = module_.add_function("main");
  Computation& callee_ = module_.add_function("f");
  Value x_ = main_.add_parameter(kF32);
  Builder b_{main_};
};

TEST_F(CallTest, RunsTheFunction) {
  main_.set_results({b_.op(Opcode::call, {x_}, CallAttrs{"f"})->result()});
  verify(module_);
  const std::vector<Tensor> arguments{Tensor(3.0F)};
  EXPECT_EQ(Evaluator().run(main_, arguments)[0].item<float>(), -3);
}

TEST_F(CallTest, Constraints) {
  EXPECT_THAT(error_of([&] { b_.op(Opcode::call, {}, CallAttrs{"f"}); }),
              HasSubstr("call: operand types, got (), expected (f32[])"));
  EXPECT_THAT(error_of([&] { b_.op(Opcode::call, {x_}, CallAttrs{"g"}); }),
              HasSubstr("call: callee, got 'g', expected a function of the module with results"));
}

TEST_F(CallTest, DeclaredTypesHoldUntilTheCalleeIsThere) {
  Instruction* call = b_.op(Opcode::call, {x_}, CallAttrs{"later"}, {kF32});
  EXPECT_EQ(call->type(), kF32);
  main_.set_results({call->result()});
  Computation& later = module_.add_function("later");
  later.set_results({later.add_parameter(kS32)});
  EXPECT_THAT(error_of([&] { verify(module_); }),
              HasSubstr("call: operand types, got (f32[]), expected (s32[])"));
}

TEST(OptimizationBarrierTest, IsTheIdentity) {
  const auto results =
      run_op({.opcode = Opcode::optimization_barrier, .operands = {Tensor(1.0F), Tensor(2)}});
  EXPECT_TRUE(results[0].identical(Tensor(1.0F)));
  EXPECT_TRUE(results[1].identical(Tensor(2)));
  EXPECT_TRUE(run_op({.opcode = Opcode::optimization_barrier, .operands = {}}).empty());
}

// -- Branches

// Regions that return their number, as types[i].
std::function<void(Instruction&)> numbered_regions(const std::vector<DType>& dtypes,
                                                   int parameters = 0) {
  return [=](Instruction& op) {
    for (size_t i = 0; i < dtypes.size(); ++i) {
      Computation& region = op.add_region();
      for (int p = 0; p < parameters; ++p) region.add_parameter(kF32);
      region.set_results({Builder(region).scalar(dtypes[i], static_cast<double>(i))});
    }
  };
}

TEST(CaseTest, OutOfRangeIsTheLast) {
  const int expected[][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {-1, 2}, {1 << 30, 2}};
  for (const auto& [index, branch] : expected) {
    const auto results = run_op({.opcode = Opcode::case_,
                                 .operands = {Tensor(index)},
                                 .fill_regions = numbered_regions(std::vector(3, DType::s32))});
    EXPECT_EQ(results[0].item<int32_t>(), branch) << index;
  }
}

TEST(CaseTest, Constraints) {
  const auto error = [](Tensor index, std::function<void(Instruction&)> fill) {
    return error_of(
        {.opcode = Opcode::case_, .operands = {std::move(index)}, .fill_regions = std::move(fill)});
  };
  const DType s32 = DType::s32;
  EXPECT_THAT(error(Tensor(int64_t{0}), numbered_regions({s32})),
              HasSubstr("case: index, got s64[], expected s32[]"));                      // I1
  EXPECT_THAT(error(Tensor(0), nullptr), HasSubstr("case: number of branches, got 0"));  // C1
  EXPECT_THAT(error(Tensor(0), numbered_regions({s32, s32}, 1)),
              HasSubstr("case: parameter types of a branch, got (f32[]), expected ()"));  // C2
  EXPECT_THAT(
      error(Tensor(0), numbered_regions({s32, DType::f32})),
      HasSubstr("case: types of the branches' results, got (f32[]), expected (s32[])"));  // C3
}

TEST(IfTest, ChoosesABranch) {
  for (const bool condition : {false, true}) {
    const auto results = run_op({.opcode = Opcode::if_,
                                 .operands = {Tensor(condition)},
                                 .fill_regions = numbered_regions({DType::s32, DType::s32})});
    EXPECT_EQ(results[0].item<int32_t>(), condition ? 0 : 1);
  }
}

TEST(IfTest, Constraints) {
  const auto error = [](Tensor condition, std::function<void(Instruction&)> fill) {
    return error_of({.opcode = Opcode::if_,
                     .operands = {std::move(condition)},
                     .fill_regions = std::move(fill)});
  };
  const DType s32 = DType::s32;
  EXPECT_THAT(error(Tensor(1), numbered_regions({s32, s32})),
              HasSubstr("if: pred, got s32[], expected pred[]"));  // I1
  EXPECT_THAT(error(Tensor(true), numbered_regions({s32, s32}, 1)),
              HasSubstr("if: parameter types of a branch, got (f32[]), expected ()"));  // C1
  EXPECT_THAT(
      error(Tensor(true), numbered_regions({s32, DType::f32})),
      HasSubstr("if: types of the branches' results, got (f32[]), expected (s32[])"));  // C2
  EXPECT_THAT(error(Tensor(true), numbered_regions({s32})),
              HasSubstr("if: number of regions, got 1, expected 2"));
}

// -- while

// (i, product) -> (i - 1, product * i) while i > 0.
void fill_factorial(Instruction& op) {
  Computation& cond = op.add_region();
  const Value i = cond.add_parameter(kS32);
  cond.add_parameter(kS32);
  Builder in_cond(cond);
  cond.set_results({in_cond.compare(i, in_cond.scalar(DType::s32, 0), ComparisonDirection::gt)});
  Computation& body = op.add_region();
  const Value j = body.add_parameter(kS32);
  const Value product = body.add_parameter(kS32);
  Builder b(body);
  body.set_results({b.subtract(j, b.scalar(DType::s32, 1)), b.multiply(product, j)});
}

TEST(WhileTest, Loops) {
  const int expected[][2] = {{5, 120}, {1, 1}, {0, 1}, {-3, 1}};
  for (const auto& [n, factorial] : expected) {
    const auto results = run_op({.opcode = Opcode::while_,
                                 .operands = {Tensor(n), Tensor(1)},
                                 .fill_regions = fill_factorial});
    EXPECT_EQ(results[1].item<int32_t>(), factorial) << n;
  }
}

TEST(WhileTest, Constraints) {
  struct Row {
    TensorType cond_parameter;
    TensorType cond_result;
    TensorType body_parameter;
    TensorType body_result;
    const char* expected;
  };
  const TensorType pred{DType::pred, {}};
  const Row rows[] = {
      {kF32, pred, kS32, kS32, "parameter types of cond, got (f32[]), expected (s32[])"},  // C1
      {kS32, kS32, kS32, kS32, "result types of cond, got (s32[]), expected (pred[])"},    // C1
      {kS32, pred, kF32, kS32, "parameter types of body, got (f32[]), expected (s32[])"},  // C2
      {kS32, pred, kS32, kF32, "result types of body, got (f32[]), expected (s32[])"},     // C2
  };
  for (const Row& row : rows) {
    const auto fill = [&](Instruction& op) {
      for (const auto& [parameter, result] : {std::pair{row.cond_parameter, row.cond_result},
                                              std::pair{row.body_parameter, row.body_result}}) {
        Computation& region = op.add_region();
        region.add_parameter(parameter);
        region.set_results({Builder(region).splat(result, 0)});
      }
    };
    EXPECT_THAT(error_of({.opcode = Opcode::while_, .operands = {Tensor(1)}, .fill_regions = fill}),
                HasSubstr(row.expected));
  }
}

TEST(WhileTest, C3DeclaredTypes) {
  EXPECT_THAT(
      error_of({.opcode = Opcode::while_,
                .operands = {Tensor(1), Tensor(1)},
                .declared = {kS32, kF32},
                .fill_regions = fill_factorial}),
      HasSubstr("while: declared result types, got (s32[], f32[]), expected (s32[], s32[])"));
}

}  // namespace
}  // namespace systole::hlo
