#include "systole/hlo/ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

// A function of two f32[2,3] parameters to build in.
class BuilderTest : public ::testing::Test {
 protected:
  Tensor run(std::vector<Value> results) {
    main_.set_results(std::move(results));
    verify(module_);
    const std::vector<Tensor> arguments{x_value_, y_value_};
    return Evaluator().run(main_, arguments)[0];
  }

  const Tensor x_value_ = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y_value_ = Tensor::of<float>({2, 3}, {6, 5, 4, 3, 2, 1});
  Module module_;
  Computation& main_ = module_.add_function("main");
  Value x_ = main_.add_parameter(x_value_.type());
  Value y_ = main_.add_parameter(y_value_.type());
  Builder b_{main_};
};

TEST_F(BuilderTest, Elementwise) {
  const Value sum = b_.add(b_.multiply(x_, y_), b_.subtract(x_, b_.negate(y_)));
  const Value bounded = b_.minimum(b_.maximum(sum, b_.splat_like(sum, 14)), b_.splat_like(sum, 17));
  const Value quotient = b_.divide(bounded, b_.splat_like(sum, 2));
  EXPECT_TRUE(run({quotient}).identical(Tensor::of<float>({2, 3}, {7, 8.5, 8.5, 8.5, 8.5, 7})));
}

TEST_F(BuilderTest, CompareSelectConvert) {
  const Value less = b_.compare(x_, y_, ComparisonDirection::lt);
  EXPECT_EQ(b_.convert(x_, DType::f32), x_);
  const Value chosen = b_.convert(b_.select(less, x_, y_), DType::s32);
  EXPECT_TRUE(run({chosen}).identical(Tensor::of<int32_t>({2, 3}, {1, 2, 3, 3, 2, 1})));
}

TEST_F(BuilderTest, Leaves) {
  EXPECT_EQ(b_.scalar(DType::bf16, 2).type(), (TensorType{DType::bf16, {}}));
  EXPECT_EQ(b_.splat({DType::s32, {}}, 3).def->opcode(), Opcode::constant);
  EXPECT_EQ(b_.splat({DType::s32, {4}}, 3).type(), (TensorType{DType::s32, {4}}));
  const Value rows = b_.iota({DType::f32, {2, 3}}, 0);
  EXPECT_TRUE(run({b_.add(x_, rows)}).identical(Tensor::of<float>({2, 3}, {1, 2, 3, 5, 6, 7})));
}

TEST_F(BuilderTest, DataMovement) {
  EXPECT_EQ(b_.reshape(x_, {3, 2}).shape(), Shape({3, 2}));
  EXPECT_EQ(b_.transpose(x_, {1, 0}).shape(), Shape({3, 2}));
  EXPECT_EQ(b_.slice(x_, {0, 1}, {2, 3}).shape(), Shape({2, 2}));
  EXPECT_EQ(b_.pad(x_, b_.scalar(DType::f32, 0), {1, 0}, {0, 2}).shape(), Shape({3, 5}));
  EXPECT_EQ(b_.reverse(x_, {1}).shape(), Shape({2, 3}));
  const Value both[] = {x_, y_};
  EXPECT_EQ(b_.concatenate(both, 1).shape(), Shape({2, 6}));
  const Value starts[] = {b_.scalar(DType::s32, 1), b_.scalar(DType::s32, 0)};
  const Value row = b_.dynamic_slice(x_, starts, {1, 3});
  EXPECT_EQ(row.shape(), Shape({1, 3}));
  const Value updated = b_.dynamic_update_slice(y_, row, starts);
  EXPECT_TRUE(run({updated}).identical(Tensor::of<float>({2, 3}, {6, 5, 4, 4, 5, 6})));
}

TEST_F(BuilderTest, BroadcastAlignsTrailingAxes) {
  EXPECT_EQ(b_.broadcast(x_, {2, 3}), x_);
  const Value column = b_.slice(x_, {0, 0}, {2, 1});
  const Value row = b_.reshape(b_.slice(x_, {0, 0}, {1, 3}), {3});
  const Value sum = b_.add(b_.broadcast(column, {2, 3}), b_.broadcast(row, {2, 3}));
  EXPECT_TRUE(run({sum}).identical(Tensor::of<float>({2, 3}, {2, 3, 4, 5, 6, 7})));
}

TEST_F(BuilderTest, ReduceAndDot) {
  const Value sums = b_.reduce(x_, Opcode::add, {1});
  EXPECT_EQ(match_reducer(sums.def->region()), Opcode::add);
  const Value product = b_.dot_general(
      x_, y_, {.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {1}});
  EXPECT_EQ(product.type(), (TensorType{DType::f32, {2, 2}}));
  const Value wide = b_.dot_general(
      b_.convert(x_, DType::bf16), b_.convert(y_, DType::bf16),
      {.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {1}}, DType::f32);
  EXPECT_EQ(wide.type(), (TensorType{DType::f32, {2, 2}}));
  EXPECT_TRUE(run({sums}).identical(Tensor::of<float>({2}, {6, 15})));
}

TEST_F(BuilderTest, InsertsBefore) {
  const Value sum = b_.add(x_, y_);
  main_.set_results({sum});
  Builder before(main_, sum.def);
  const Value negated = before.negate(x_);
  EXPECT_EQ(main_.instructions()[2], negated.def);
  sum.def->set_operand(0, negated);
  verify(module_);
}

TEST_F(BuilderTest, ErrorsNameTheSourceAndLeaveNothingBehind) {
  b_.set_metadata({.name = "layer/add"});
  const int before = main_.num_instructions();
  EXPECT_EQ(error_of([&] { b_.add(x_, b_.scalar(DType::f32, 1)); }),
            "INVALID_ARGUMENT: add: operand types, got f32[2,3] and f32[], expected equal, node "
            "'layer/add'");
  EXPECT_EQ(main_.num_instructions(), before + 1);  // the scalar
  EXPECT_TRUE(y_.def->unused() && x_.def->unused());
  EXPECT_THAT(error_of([&] { b_.op(Opcode::add, {x_}); }),
              HasSubstr("add: number of operands, got 1, expected 2"));
  EXPECT_EQ(b_.negate(x_).def->metadata().name, "layer/add");
}

TEST_F(BuilderTest, DeclaredTypesAreChecked) {
  EXPECT_THAT(error_of([&] {
                b_.op(Opcode::negate, {x_}, NoAttrs{}, {{DType::f32, {2}}});
              }),
              HasSubstr("negate: declared result types, got (f32[2]), expected (f32[2,3])"));
}

TEST_F(BuilderTest, IdentityLeavesEveryElement) {
  const Opcode reducers[] = {Opcode::add,  Opcode::multiply, Opcode::maximum, Opcode::minimum,
                             Opcode::and_, Opcode::or_,      Opcode::xor_};
  for (const Opcode reducer : reducers) {
    for (int d = static_cast<int>(DType::pred); d < static_cast<int>(DType::c64); ++d) {
      const auto dtype = static_cast<DType>(d);
      if (dtype == DType::f8e8m0fnu && reducer == Opcode::add) continue;  // has no 0
      const bool bitwise =
          reducer == Opcode::and_ || reducer == Opcode::or_ || reducer == Opcode::xor_;
      if (bitwise && is_floating(dtype)) continue;
      SCOPED_TRACE(fmt::format("{} {}", reducer, dtype));
      const Value e = b_.identity(reducer, dtype);
      for (const double element : {0.0, 1.0, 7.0}) {
        const Tensor x = Tensor::full(dtype, {}, element);
        const Tensor identity = e.def->attrs<ConstantAttrs>().value;
        EXPECT_TRUE(
            testing::run_op({.opcode = reducer, .operands = {identity, x}})[0].identical(x));
      }
    }
  }
  EXPECT_EQ(
      b_.identity(Opcode::minimum, DType::s64).def->attrs<ConstantAttrs>().value.item<int64_t>(),
      std::numeric_limits<int64_t>::max());
  EXPECT_THAT(error_of([&] { b_.identity(Opcode::divide, DType::f32); }),
              HasSubstr("identity: reducer, got 'divide'"));
  EXPECT_THAT(error_of([&] { b_.identity(Opcode::maximum, DType::c64); }),
              HasSubstr("identity: dtype, got c64"));
  EXPECT_THAT(error_of([&] { b_.identity(Opcode::add, DType::f8e8m0fnu); }),
              HasSubstr("expected one with 0"));
}

TEST_F(BuilderTest, MatchReducerWantsExactlyOneOp) {
  const TensorType scalar{DType::pred, {}};
  const auto match = [&](const std::function<Value(Builder&, Value, Value)>& body) {
    Module module;
    Computation& region = module.add_function("region");
    const Value a = region.add_parameter(scalar);
    const Value b = region.add_parameter(scalar);
    Builder builder(region);
    region.set_results({body(builder, a, b)});
    return match_reducer(region);
  };
  EXPECT_EQ(match([](Builder& b, Value x, Value y) { return b.add(x, y); }), Opcode::add);
  EXPECT_EQ(match([](Builder& b, Value x, Value y) { return b.add(y, x); }), std::nullopt);
  EXPECT_EQ(match([](Builder& b, Value x, Value) { return b.add(x, x); }), std::nullopt);
  EXPECT_EQ(match([](Builder&, Value x, Value) { return x; }), std::nullopt);
  EXPECT_EQ(match([](Builder& b, Value x, Value y) { return b.add(b.add(x, y), y); }),
            std::nullopt);
  EXPECT_EQ(
      match([](Builder& b, Value x, Value y) { return b.compare(x, y, ComparisonDirection::gt); }),
      std::nullopt);
}

}  // namespace
}  // namespace systole::hlo
