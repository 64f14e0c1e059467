// What lies outside of a program (tokens, custom_call, infeed...), its functions (composite), and
// rng, which has a state of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "systole/hlo/passes/dce.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/semantics/token.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/op_case.h"
#include "systole/hlo/testing/run_op.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo::testing {
namespace {

using ::testing::HasSubstr;

// -- Tokens.

TEST(AfterAllTest, ATokenOfTokens) {
  const Tensor token = token_value();
  EXPECT_EQ(token.byte_size(), 0);
  for (const std::vector<Tensor>& operands :
       std::vector<std::vector<Tensor>>{{}, {token}, {token, token}}) {
    EXPECT_TRUE(run_op({.opcode = Opcode::after_all, .operands = operands})[0].identical(token));
  }
  EXPECT_THAT(error_of({.opcode = Opcode::after_all, .operands = {Tensor(1.0F)}}),
              HasSubstr("after_all: operand 0, got f32[], expected a token"));
}

struct TransferCase {
  OpUnderTest op;
  std::string error;
};

TEST(TransferTest, NeedATokenAndADevice) {
  const TransferAttrs kToDevice{.channel_handle = {1, 1}};
  const Tensor token = token_value();
  const TensorType type = token_type();
  const TensorType f32{DType::f32, {}};
  const TransferCase cases[] = {
      {{.opcode = Opcode::infeed, .operands = {token}, .attrs = InfeedAttrs(), .declared = {type}},
       "UNIMPLEMENTED: infeed: got a device without an infeed"},
      {{.opcode = Opcode::outfeed, .operands = {token}, .attrs = OutfeedAttrs()},
       "UNIMPLEMENTED: outfeed: got a device without an outfeed"},
      {{.opcode = Opcode::send, .operands = {Tensor(1.0F), token}, .attrs = kToDevice},
       "UNIMPLEMENTED: send: got a device without a channel to send to"},
      {{.opcode = Opcode::recv, .operands = {token}, .attrs = kToDevice, .declared = {f32, type}},
       "UNIMPLEMENTED: recv: got a device without a channel to receive from"},
      {{.opcode = Opcode::infeed,
        .operands = {token},
        .attrs = InfeedAttrs(),
        .declared = {type, f32}},
       "infeed: last result type, got f32[], expected a token"},
      {{.opcode = Opcode::infeed,
        .operands = {Tensor(1.0F)},
        .attrs = InfeedAttrs(),
        .declared = {type}},
       "infeed: operand 0, got f32[], expected a token"},
      {{.opcode = Opcode::outfeed, .operands = {token, Tensor(1.0F)}, .attrs = OutfeedAttrs()},
       "outfeed: operand 1, got f32[], expected a token"},
  };
  for (const TransferCase& c : cases) EXPECT_THAT(error_of(c.op), HasSubstr(c.error));
}

TEST(TransferTest, ConstraintsAreChecked) {
  const TransferAttrs kToDevice{.channel_handle = {1, 1}};
  const Tensor token = token_value();
  const TensorType type = token_type();
  const TensorType f32{DType::f32, {}};
  const TransferCase cases[] = {
      {{.opcode = Opcode::send,
        .operands = {token},
        .attrs = TransferAttrs{.channel_handle = {1, 1}, .source_target_pairs = {{0, 1}, {0, 2}}}},
       "send: source_target_pairs: sources, got [0, 0], expected no value twice"},
      {{.opcode = Opcode::send, .operands = {token, token}, .attrs = kToDevice},
       "send: operand 0, got a token, expected tensors before the last operand"},
      {{.opcode = Opcode::outfeed, .operands = {token, token}, .attrs = OutfeedAttrs()},
       "outfeed: operand 0, got a token, expected tensors before the last operand"},
      {{.opcode = Opcode::recv,
        .operands = {token},
        .attrs = TransferAttrs{.channel_handle = {1, 1}, .source_target_pairs = {{0, -1}}},
        .declared = {type}},
       "recv: source_target_pairs: targets, got [-1], expected values >= 0"},
      {{.opcode = Opcode::send,
        .operands = {token},
        .attrs = TransferAttrs{.channel_handle = {1, 2}}},
       "send: type of channel_handle, got 2 with is_host_transfer false, expected 1"},
      {{.opcode = Opcode::send,
        .operands = {token},
        .attrs = TransferAttrs{.channel_handle = {1, 1}, .is_host_transfer = true}},
       "send: type of channel_handle, got 1 with is_host_transfer true, expected 2"},
      {{.opcode = Opcode::recv,
        .operands = {token},
        .attrs = TransferAttrs{.channel_handle = {1, 2}, .is_host_transfer = true},
        .declared = {type}},
       "recv: type of channel_handle, got 2 with is_host_transfer true, expected 3"},
      {{.opcode = Opcode::recv, .operands = {token}, .attrs = kToDevice, .declared = {type, type}},
       "recv: result types, got (token[], token[]), expected tensors before the token"},
      {{.opcode = Opcode::infeed,
        .operands = {token},
        .attrs = InfeedAttrs{.layout = std::vector<Dims>{{0, 1}}},
        .declared = {f32, f32, type}},
       "infeed: layout, got 1 values, expected 2"},
  };
  for (const TransferCase& c : cases) EXPECT_THAT(error_of(c.op), HasSubstr(c.error));
}

// -- custom_call.

TEST(CustomCallTest, AnnotationsAreIdentities) {
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  OpUnderTest op{.opcode = Opcode::custom_call,
                 .operands = {x},
                 .attrs = CustomCallAttrs{.call_target_name = "Sharding"},
                 .declared = {x.type()}};
  EXPECT_TRUE(run_op(op)[0].identical(x));
  op.attrs = CustomCallAttrs{.call_target_name = "cu_fft"};
  EXPECT_THAT(error_of(op), HasSubstr("UNIMPLEMENTED: custom_call: target, got 'cu_fft'"));
}

TEST(CustomCallTest, KeepsItsAttributesAsText) {
  const std::string attributes =
      "{call_target_name = \"f\", has_side_effect = true, backend_config = {a = 1 : i32, b = "
      "\"x\"}, api_version = 4 : i32, called_computations = [@g], max_ulp = 3 : i64, only}";
  const auto module =
      parse("module @m {\nfunc.func public @main() {\n  \"stablehlo.custom_call\"() " + attributes +
            " : () -> ()\n  \"func.return\"() : () -> ()\n}\nfunc.func private @g() {\n  "
            "\"func.return\"() : () -> ()\n}\n}\n");
  verify(*module);
  const std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr(attributes));
  EXPECT_EQ(print(*parse(text)), text);
  // It stays, and so does what it names.
  EXPECT_FALSE(DeadCodeElimination().run(*module));
}

TEST(CustomCallTest, NamesFunctionsOfTheModule) {
  Module module;
  Computation& main = module.add_function("main");
  Builder(main).op(Opcode::custom_call, {},
                   CustomCallAttrs{.call_target_name = "f", .called_computations = {"g"}});
  main.set_results({});
  EXPECT_THAT(error_of([&] { verify(module); }),
              HasSubstr("custom_call: callee, got 'g', expected a function of the module"));
}

// -- composite.

std::unique_ptr<Module> composite(const std::string& attributes, const std::string& type = "f32") {
  const std::string t = "tensor<" + type + ">";
  return parse("module @m {\nfunc.func public @main(%x: " + t + ") -> " + t +
               " {\n  %y = \"stablehlo.composite\"(%x) {" + attributes + "} : (" + t + ") -> " + t +
               "\n  \"func.return\"(%y) : (" + t +
               ") -> ()\n}\nfunc.func private @twice(%x: tensor<f32>) -> tensor<f32> {\n  %y = "
               "\"stablehlo.add\"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n  "
               "\"func.return\"(%y) : (tensor<f32>) -> ()\n}\n}\n");
}
const std::string kTwice =
    "name = \"my.twice\", composite_attributes = {n = 2 : i64}, decomposition = @twice";

TEST(CompositeTest, IsItsDecomposition) {
  const auto module = composite(kTwice + ", version = 1 : i32");
  verify(*module);
  const std::vector<Tensor> arguments = {Tensor(3.0F)};
  EXPECT_EQ(Evaluator().run(module->entry(), arguments)[0].item<float>(), 6);
  const std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr(kTwice + ", version = 1 : i32"));
  EXPECT_FALSE(DeadCodeElimination().run(*module));
  EXPECT_TRUE(InlineCalls().run(*module));
  EXPECT_THAT(print(module->entry()), Not(HasSubstr("composite")));
  EXPECT_EQ(Evaluator().run(module->entry(), arguments)[0].item<float>(), 6);
}

TEST(CompositeTest, Constraints) {
  const auto error = [](const std::string& attributes, const std::string& type = "f32") {
    return error_of([&] { verify(*composite(attributes, type)); });
  };
  EXPECT_THAT(error("name = \"twice\", decomposition = @twice"),  // C1
              HasSubstr("composite: name, got 'twice', expected one such as 'namespace.op'"));
  EXPECT_THAT(error("name = \"my.f\", decomposition = @f"),  // C2
              HasSubstr("composite: callee, got @f, expected a function"));
  EXPECT_THAT(error(kTwice, "f64"),  // C3, C4
              HasSubstr("composite: operand types, got (f64[]), expected (f32[])"));
}

// -- map, get_dimension_size, rng.

const std::string kS64x2 = "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>";

const ValueCase kValues[] = {
    {"products",
     "map",
     {kS64x2, "dense<[[4, 5], [6, 7]]> : tensor<2x2xi64>"},
     "(" + reducer("multiply", "i64") + ") {dimensions = array<i64: 0, 1>}",
     {"dense<[[0, 5], [12, 21]]> : tensor<2x2xi64>"}},
    {"to_another_element_type",
     "map",
     {kS64x2, "dense<2> : tensor<2x2xi64>"},
     "(" + comparator("LT", "i64") + ") {dimensions = array<i64: 0, 1>}",
     {"dense<[[true, true], [false, false]]> : tensor<2x2xi1>"}},
    {"not_elementwise",
     "map",
     {"dense<[1, 2, 3, 4, 5]> : tensor<5xi32>"},
     "({^bb0(%a: tensor<i32>): %r = \"stablehlo.reshape\"(%a) : (tensor<i32>) -> tensor<1xi32> %s "
     "= \"stablehlo.reshape\"(%r) : (tensor<1xi32>) -> tensor<i32> %n = \"stablehlo.negate\"(%s) : "
     "(tensor<i32>) -> tensor<i32> \"stablehlo.return\"(%n) : (tensor<i32>) -> ()}) {dimensions = "
     "array<i64: 0>}",
     {"dense<[-1, -2, -3, -4, -5]> : tensor<5xi32>"}},
    {"nothing",
     "map",
     {"dense<> : tensor<0xi32>"},
     "({^bb0(%a: tensor<i32>): \"stablehlo.return\"(%a) : (tensor<i32>) -> ()}) {dimensions = "
     "array<i64: 0>}",
     {"dense<> : tensor<0xi32>"}},
    {"second",
     "get_dimension_size",
     {"dense<0> : tensor<2x3xi64>"},
     "{dimension = 1 : i64}",
     {"dense<3> : tensor<i32>"}},
    {"empty_interval",
     "rng",
     {"dense<7> : tensor<ui64>", "dense<8> : tensor<ui64>", "dense<[2]> : tensor<1xi64>"},
     "{rng_distribution = #stablehlo<rng_distribution UNIFORM>}",
     {"dense<7> : tensor<2xui64>"}},
};

const ErrorCase kErrors[] = {
    {"c1_shapes",
     "map",
     {"tensor<2xi64>", "tensor<3xi64>"},
     "(" + reducer("add", "i64") + ") {dimensions = array<i64: 0>}",
     {"tensor<2xi64>"},
     "map: shape of input 1, got [3], expected [2]"},
    {"c3_dimensions",
     "map",
     {"tensor<2x2xi64>", "tensor<2x2xi64>"},
     "(" + reducer("add", "i64") + ") {dimensions = array<i64: 1, 0>}",
     {"tensor<2x2xi64>"},
     "map: dimensions, got [1, 0], expected all axes of [2,2] in order"},
    {"c4_parameters",
     "map",
     {"tensor<2xi32>", "tensor<2xi64>"},
     "(" + reducer("add", "i64") + ") {dimensions = array<i64: 0>}",
     {"tensor<2xi64>"},
     "map: parameter types of region 0, got (s64[], s64[]), expected (s32[], s64[])"},
    {"c1_dimension",
     "get_dimension_size",
     {"tensor<2x3xi64>"},
     "{dimension = 2 : i64}",
     {"tensor<i32>"},
     "get_dimension_size: dimension, got [2], expected axes in [0, 2)"},
    {"c1_types",
     "rng",
     {"tensor<f32>", "tensor<f64>", "tensor<1xi64>"},
     "{rng_distribution = #stablehlo<rng_distribution UNIFORM>}",
     {"tensor<2xf32>"},
     "rng: element type of b, got f64, expected f32"},
    {"c2_normal",
     "rng",
     {"tensor<i32>", "tensor<i32>", "tensor<1xi64>"},
     "{rng_distribution = #stablehlo<rng_distribution NORMAL>}",
     {"tensor<2xi32>"},
     "rng: element type, got s32, expected floating-point"},
    {"c3_shape",
     "rng",
     {"tensor<f32>", "tensor<f32>", "tensor<2xi64>"},
     "{rng_distribution = #stablehlo<rng_distribution UNIFORM>}",
     {"tensor<2xf32>"},
     "rng: shape of shape, got [2], expected [1]"},
};

Instruction* add_rng(Computation& main, RngDistribution distribution, const Tensor& a,
                     const Tensor& b) {
  Builder builder(main);
  return builder.op(Opcode::rng,
                    {builder.constant(a), builder.constant(b),
                     builder.constant(Tensor::of<int64_t>({1}, {10000}))},
                    RngAttrs{distribution}, {{a.dtype(), {10000}}});
}

TEST(RngTest, UniformIntegers) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x =
      add_rng(main, RngDistribution::uniform, Tensor(int32_t{-3}), Tensor(int32_t{4}))->result();
  main.set_results({x});
  const Tensor values = Evaluator().run(main, {})[0];
  std::vector<int> counts(7);
  for (const int32_t value : values.data<int32_t>())
    ++counts.at(static_cast<size_t>(int64_t{value} + 3));
  EXPECT_GT(std::ranges::min(counts), 1200);
}

TEST(RngTest, UniformFloatsBelowTheEnd) {
  Module module;
  Computation& main = module.add_function("main");
  const Tensor low = Tensor(1.0F).cast(DType::bf16);
  const Tensor high = Tensor(1.0078125F).cast(DType::bf16);  // its neighbour
  main.set_results({add_rng(main, RngDistribution::uniform, low, high)->result()});
  const Tensor values = Evaluator().run(main, {})[0];
  for (const bfloat16 value : values.data<bfloat16>()) {
    ASSERT_EQ(static_cast<float>(value), 1.0F);
  }
}

TEST(RngTest, NormalAndNeverTheSameTwice) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = add_rng(main, RngDistribution::normal, Tensor(5.0), Tensor(2.0))->result();
  const Value y = add_rng(main, RngDistribution::normal, Tensor(5.0), Tensor(2.0))->result();
  main.set_results({x, y});
  const Evaluator evaluator;
  const std::vector<Tensor> once = evaluator.run(main, {});
  const std::vector<Tensor> again = evaluator.run(main, {});
  EXPECT_FALSE(once[0].identical(once[1]));
  EXPECT_FALSE(once[0].identical(again[0]));
  EXPECT_TRUE(Evaluator().run(main, {})[0].identical(once[0]));
  double sum = 0;
  double squares = 0;
  for (const double value : once[0].data<double>()) {
    sum += value;
    squares += (value - 5) * (value - 5);
  }
  EXPECT_NEAR(sum / 10000, 5, 0.1);
  EXPECT_NEAR(std::sqrt(squares / 10000), 2, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Outside, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Outside, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
