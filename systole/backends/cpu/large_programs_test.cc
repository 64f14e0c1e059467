// Programs of many steps, whose code is shared between steps that compute the same.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/ir/builder.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;

// Some of it is the same in every layer, some takes turns, a constant and an array that is both
// operands among them.
std::string layers(int count, const std::string& first) {
  std::string text;
  std::string v = first;
  for (int i = 0; i < count; ++i) {
    const std::string other = i % 3 == 0 ? v : "%x";
    text += fmt::format(
        "  %d{0} = stablehlo.dot_general {1}, {2}, contracting_dims = [0] x [1] : "
        "(tensor<9x9xf32>, tensor<9x9xf32>) -> tensor<9x9xf32>\n"
        "  %t{0} = stablehlo.tanh %d{0} : tensor<9x9xf32>\n"
        "  %c{0} = stablehlo.constant dense<{3}> : tensor<9x9xf32>\n"
        "  %v{0} = stablehlo.multiply %t{0}, %c{0} : tensor<9x9xf32>\n",
        i, v, other, i % 5 == 0 ? "0.5" : "0.25");
    v = fmt::format("%v{}", i);
  }
  return text;
}

std::unique_ptr<hlo::Module> straight(int count) {
  return hlo::parse(
      fmt::format("func.func @main(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {{\n"
                  "{}  return %v{} : tensor<9x9xf32>\n}}\n",
                  layers(count, "%x"), count - 1));
}

std::vector<Tensor> matrix() {
  RandomStream random(91);
  return {testing::random_tensor(random, {DType::f32, {9, 9}}, -1, 1)};
}

TEST(LargePrograms, AgreeWithTheReference) {
  EXPECT_EQ("", testing::check(*straight(150), matrix(), {.ulps = 64, .of_largest = 1e-5}));
}

TEST(LargePrograms, HaveTheCodeOfEachKindOfStepOnce) {
  const auto bytes = [](int count) {
    return testing::client().compile(*straight(count))->stats().code_bytes;
  };
  // What a layer adds are two calls.
  EXPECT_LT(bytes(600) - bytes(300), 300 * 400);
}

TEST(LargePrograms, AreBodiesOfLoopsWithSmallLoopsInThem) {
  const auto module = hlo::parse(fmt::format(
      R"(func.func @main(%x: tensor<9x9xf32>) -> (tensor<9x9xf32>, tensor<i32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<9x9xf32>
    cond {{
      %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
{}
      %sorted = "stablehlo.sort"(%v149) ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }}) {{dimension = 1 : i64}} : (tensor<9x9xf32>) -> tensor<9x9xf32>
      %s:2 = stablehlo.while(%j = %zero, %b = %sorted) : tensor<i32>, tensor<9x9xf32>
        cond {{
          %less = stablehlo.compare LE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
        }} do {{
          %sum = stablehlo.add %b, %x : tensor<9x9xf32>
          %j1 = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %j1, %sum : tensor<i32>, tensor<9x9xf32>
        }}
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %s#1 : tensor<i32>, tensor<9x9xf32>
    }}
  return %r#1, %r#0 : tensor<9x9xf32>, tensor<i32>
}}
)",
      layers(150, "%a")));
  EXPECT_EQ("", testing::check(*module, matrix(), {.ulps = 64, .of_largest = 1e-5}));
}

const hlo::DotAttrs kProduct{.lhs_contracting_dimensions = {1}, .rhs_contracting_dimensions = {0}};

// A large program with these steps in it, that work on a chain of products, and their results.
using Steps = std::function<std::vector<Value>(hlo::Builder&, std::span<const Value> products)>;
std::unique_ptr<hlo::Module> large_with(const Steps& steps) {
  auto module = straight(70);
  hlo::Computation& main = module->entry();
  hlo::Builder b(main);
  const Value x = main.parameter(0);
  std::vector<Value> products = {b.dot_general(x, x, kProduct)};
  for (int i = 0; i < 5; ++i) products.push_back(b.dot_general(products.back(), x, kProduct));
  std::vector<Value> results = steps(b, products);
  results.push_back(main.results()[0]);
  main.set_results(std::move(results));
  return module;
}

std::string check_large_with(const Steps& steps) {
  return testing::check(*large_with(steps), matrix(), {.ulps = 64, .of_largest = 1e-5});
}

Tensor numbers(const Shape& shape, int first) {
  Tensor result(DType::f32, shape);
  for (float& x : result.data<float>()) x = static_cast<float>(first++);
  return result;
}

// A constant that shares its memory with another operand, beside one that does not.
TEST(LargePrograms, KnowWhichOperandsAreOneArray) {
  const std::string got = check_large_with([](hlo::Builder& b, auto) {
    std::vector<Value> results;
    for (const Shape& shape : {Shape{2, 2}, Shape{1, 1}, Shape{9, 9}}) {
      const Value c = b.constant(numbers(shape, 1));
      const Value d = b.constant(numbers(shape, 5));
      const Value bc = b.op(Opcode::optimization_barrier, {c})->result();
      const Value bd = b.op(Opcode::optimization_barrier, {d})->result();
      for (const auto& [x, y] : {std::pair{c, bc}, {c, bd}, {d, bd}, {bd, c}})
        results.push_back(b.dot_general(x, y, kProduct));
    }
    return results;
  });
  EXPECT_EQ(got, "");
}

// Steps that differ in the value of a constant alone, which is part of the code or an array.
TEST(LargePrograms, TellConstantsApart) {
  const auto reduce = [](hlo::Builder& b, Value x, int k) {
    return b
        .op_with_regions(
            Opcode::reduce, {x, b.scalar(DType::f32, 0.5 * k)}, hlo::DimensionsAttrs{{0}},
            [](hlo::Instruction& r) { hlo::fill_reducer(r.add_region(), Opcode::add, DType::f32); })
        ->result();
  };
  const auto pad = [](hlo::Builder& b, Value x, int k) {
    return b.pad(x, b.scalar(DType::f32, k), {1, 0}, {0, 2}, {0, 0});
  };
  const auto dot = [](hlo::Builder& b, Value x, int k) {
    return b.dot_general(x, b.constant(numbers({9, 3}, k)), kProduct);
  };
  const auto slice = [](hlo::Builder& b, Value x, int k) {
    return b.pad(b.slice(x, {k, 0}, {k + 2, 9}), b.scalar(DType::f32, 0), {k, 0}, {7 - k, 0},
                 {0, 0});
  };
  const auto reach = [](hlo::Builder& b, Value x, int k) {
    const Value starts[] = {b.scalar(DType::s32, k), b.scalar(DType::s32, 1)};
    return b.dynamic_update_slice(x, b.constant(numbers({2, 2}, k)), starts);
  };
  using Kind = Value (*)(hlo::Builder&, Value, int);
  const std::string got = check_large_with([&](hlo::Builder& b, std::span<const Value> products) {
    std::vector<Value> results;
    for (const Kind step : {Kind(reduce), Kind(pad), Kind(dot), Kind(slice), Kind(reach)}) {
      for (int k = 0; k < 6; ++k) results.push_back(step(b, products[k], k));
    }
    return results;
  });
  EXPECT_EQ(got, "");
}

// What is written over its operand, between others of the kind that keep theirs.
TEST(LargePrograms, TellWhatIsWrittenInPlaceFromCopies) {
  const std::string got = check_large_with([&](hlo::Builder& b, std::span<const Value> products) {
    const Value first = b.reshape(b.slice(products[0], {0, 0}, {1, 1}), {});
    const Value row = b.slice(products[5], {8, 0}, {9, 9});
    const Value at = b.convert(b.multiply(first, first), DType::s32);
    const Value starts[] = {at, at};
    std::vector<Value> results;
    for (int k = 1; k < 5; ++k) {
      // A product of its own, so that it may die here.
      const Value old = b.dot_general(products[0], products[k], kProduct);
      const Value updated = b.dynamic_update_slice(old, row, starts);
      results.push_back(b.dot_general(updated, k % 2 == 1 ? products[1] : old, kProduct));
    }
    return results;
  });
  EXPECT_EQ(got, "");
}

TEST(LargePrograms, KeepTheStatesOfRandomNumbersApart) {
  const std::string got = check_large_with([&](hlo::Builder& b, auto) {
    const Value start = b.constant(Tensor::of<uint64_t>({2}, {7, ~uint64_t{0} - 50}));
    std::vector<Value> states = {b.op(Opcode::optimization_barrier, {start})->result()};
    std::vector<Value> results;
    for (int k = 0; k < 6; ++k) {
      hlo::Instruction* rng = b.op(Opcode::rng_bit_generator, {states.back()},
                                   hlo::RngBitGeneratorAttrs{hlo::RngAlgorithm::philox},
                                   {states.back().type(), {DType::u32, {5, 7}}});
      states.push_back(rng->result(0));
      results.push_back(rng->result(1));
    }
    // Some states live on, and some are written over.
    results.push_back(b.binary(Opcode::xor_, states[2], states[5]));
    results.push_back(states.back());
    return results;
  });
  EXPECT_EQ(got, "");
}

// Reductions in parts, and sorts.
TEST(LargePrograms, GiveStepsTheirScratchMemory) {
  const std::string got = check_large_with([&](hlo::Builder& b, std::span<const Value> products) {
    const TensorType stack{DType::f32, {6500, 9, 9}};
    std::vector<Value> results;
    for (const Value& x : products) {
      const Value wide = b.broadcast_in_dim(x, stack.shape, {1, 2});
      results.push_back(b.reduce(b.multiply(wide, b.iota(stack, 0)), Opcode::maximum, {0}));
      hlo::Instruction* sort =
          b.op_with_regions(Opcode::sort, {x}, hlo::SortAttrs{0, true}, [](hlo::Instruction& s) {
            hlo::Computation& region = s.add_region();
            const Value p = region.add_parameter({DType::f32, {}});
            const Value q = region.add_parameter({DType::f32, {}});
            hlo::Builder inner(region);
            region.set_results({inner.compare(p, q, hlo::ComparisonDirection::lt)});
          });
      results.push_back(sort->result());
    }
    return results;
  });
  EXPECT_EQ(got, "");
}

// `count` loops of so many turns and layers a turn, then layers outside of a loop.
std::unique_ptr<hlo::Module> loops(int count, int turns, int layers_a_turn, int outside) {
  std::string text =
      "func.func @main(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {\n"
      "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %one = stablehlo.constant dense<1> : tensor<i32>\n";
  std::string first = "%x";
  for (int k = 0; k < count; ++k) {
    text += fmt::format(
        R"(  %last{0} = stablehlo.constant dense<{1}> : tensor<i32>
  %r{0}:2 = stablehlo.while(%i = %zero, %a = {2}) : tensor<i32>, tensor<9x9xf32>
    cond {{
      %more = stablehlo.compare LT, %i, %last{0} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
{3}
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %v{4} : tensor<i32>, tensor<9x9xf32>
    }}
)",
        k, turns, first, layers(layers_a_turn, "%a"), layers_a_turn - 1);
    first = fmt::format("%r{}#1", k);
  }
  if (outside > 0) {
    text += layers(outside, first);
    first = fmt::format("%v{}", outside - 1);
  }
  return hlo::parse(text + fmt::format("  return {} : tensor<9x9xf32>\n}}\n", first));
}

TEST(LargePrograms, ShareStepsBetweenLoops) {
  EXPECT_EQ("", testing::check(*loops(2, 3, 150, 0), matrix(), {.ulps = 64, .of_largest = 1e-5}));
  const auto bytes = [](int count) {
    return testing::client().compile(*loops(count, 3, 150, 0))->stats().code_bytes;
  };
  EXPECT_LT(bytes(3) - bytes(2), 150 * 400);
}

// Small loops that end at once are calls of shared steps; those that run for long have their own
// code.
TEST(LargePrograms, ShareStepsBetweenSmallLoopsOfFewTurns) {
  EXPECT_EQ("", testing::check(*loops(2, 3, 8, 80), matrix(), {.ulps = 64, .of_largest = 1e-5}));
  for (const int turns : {3, 1000}) {
    const auto bytes = [&](int count) {
      return testing::client().compile(*loops(count, turns, 8, 80))->stats().code_bytes;
    };
    EXPECT_LT(bytes(3) - bytes(2), bytes(1) / 3) << turns;
  }
}

// The same steps on arrays of other sizes are calls of one function.
TEST(LargePrograms, HaveTheCodeOfEachFormOfAStepOnce) {
  const auto program = [](int sizes) {
    std::string arguments;
    std::string types;
    std::string body;
    std::string results;
    for (int i = 0; i < 160; ++i) {
      const auto separator = i == 0 ? "" : ", ";
      const std::string type = fmt::format("tensor<{}x37xf32>", 40 + i % sizes);
      arguments += fmt::format("{}%x{}: {}", separator, i, type);
      types += separator + type;
      body += fmt::format(
          "  %t{0} = stablehlo.tanh %x{0} : {1}\n  %l{0} = stablehlo.logistic %t{0} : {1}\n"
          "  %y{0} = stablehlo.multiply %l{0}, %x{0} : {1}\n",
          i, type);
      results += fmt::format("{}%y{}", separator, i);
    }
    return hlo::parse(fmt::format("func.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n",
                                  arguments, types, body, results, types));
  };
  const auto module = program(40);
  RandomStream random(93);
  std::vector<Tensor> arguments;
  for (int i = 0; i < module->entry().num_parameters(); ++i)
    arguments.push_back(testing::random_tensor(random, module->entry().parameter(i).type(), -4, 4));
  EXPECT_EQ("", testing::check(*module, arguments, {.ulps = 64, .of_largest = 1e-6}));
  const auto bytes = [&](int sizes) {
    return testing::client().compile(*program(sizes))->stats().code_bytes;
  };
  // What a further size adds is a call.
  EXPECT_LT(bytes(40) - bytes(20), 20 * 400);
}

// A concatenation of `count` sums with 1 to 7 columns each, 35 of them different.
std::unique_ptr<hlo::Module> joined(int count, int rows) {
  std::string text = fmt::format("func.func @main(%x: tensor<{}x7xf32>) -> ", rows);
  std::string body;
  std::string operands;
  std::string types;
  int columns = 0;
  for (int i = 0; i < count; ++i) {
    const int size = i % 7 + 1;
    const std::string type = fmt::format("tensor<{}x{}xf32>", rows, size);
    body += fmt::format(
        "  %s{0} = stablehlo.slice %x [0:{1}, 0:{2}] : (tensor<{1}x7xf32>) -> {3}\n"
        "  %c{0} = stablehlo.constant dense<{4}.0> : {3}\n"
        "  %t{0} = stablehlo.add %s{0}, %c{0} : {3}\n",
        i, rows, size, type, i % 5);
    operands += fmt::format("{}%t{}", i == 0 ? "" : ", ", i);
    types += fmt::format("{}{}", i == 0 ? "" : ", ", type);
    columns += size;
  }
  const std::string result = fmt::format("tensor<{}x{}xf32>", rows, columns);
  return hlo::parse(text + result + " {\n" + body +
                    fmt::format("  %j = stablehlo.concatenate {}, dim = 1 : ({}) -> {}\n"
                                "  return %j : {}\n}}\n",
                                operands, types, result, result));
}

// A function that calls the next one, and so on: the steps of all are a few fusions, of which those
// that are alike have one code.
TEST(LargePrograms, HaveLittleCodeOfCallsNestedDeep) {
  const auto nested = [](int depth) {
    std::string text = "module {\nfunc.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n";
    for (int i = 0; i <= depth; ++i) {
      text += i == depth ? "  return %x : tensor<64xf32>\n}\n"
                         : fmt::format(
                               "  %a = stablehlo.sine %x : tensor<64xf32>\n"
                               "  %b = stablehlo.add %a, %x : tensor<64xf32>\n"
                               "  %c = func.call @f{0}(%b) : (tensor<64xf32>) -> tensor<64xf32>\n"
                               "  return %c : tensor<64xf32>\n}}\n"
                               "func.func private @f{0}(%x: tensor<64xf32>) -> tensor<64xf32> {{\n",
                               i);
    }
    return hlo::parse(text + "}\n");
  };
  const auto bytes = [&](int depth) {
    return testing::client().compile(*nested(depth))->stats().code_bytes;
  };
  const int64_t less = bytes(128);
  const int64_t more = bytes(256);
  EXPECT_LT(more, 3 * less);
  EXPECT_LT(bytes(1024), 2 * more);
  RandomStream random(3);
  const Tensor x = testing::random_tensor(random, {DType::f32, {64}}, -1, 1);
  EXPECT_EQ("",
            testing::check(*nested(400), std::vector{x}, {.ulps = 1 << 16, .of_largest = 1e-3}));
}

TEST(LargePrograms, JoinManyArraysInLittleCode) {
  RandomStream random(92);
  for (const int rows : {1, 3}) {
    for (const int count : {64, 65, 130}) {
      const std::vector<Tensor> arguments = {
          testing::random_tensor(random, {DType::f32, {rows, 7}}, -1, 1)};
      EXPECT_EQ("", testing::check(*joined(count, rows), arguments)) << rows << ", " << count;
    }
  }
  const auto bytes = [](int count) {
    return testing::client().compile(*joined(count, 3))->stats().code_bytes;
  };
  EXPECT_LT((bytes(280) - bytes(140)) / 140, 100);
}

// The steps of a profile are the program's, not the functions that they share.
TEST(LargePrograms, AreProfiledStepByStep) {
  const auto module = straight(150);
  const auto executable = testing::client().compile(*module, {.program = {.profile = true}});
  const std::vector<Tensor> arguments = matrix();
  std::vector<runtime::StepProfile> steps;
  runtime::run(*executable, arguments, {.profile = &steps});
  EXPECT_GE(steps.size(), 300U);
  for (const runtime::StepProfile& step : steps) EXPECT_EQ(step.runs, 1) << step.step;
}

}  // namespace
}  // namespace systole::cpu
