#include "systole/hlo/semantics/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

const TensorType kF32{DType::f32, {}};
const TensorType kS32{DType::s32, {}};

TEST(EvaluatorTest, ChecksArguments) {
  Module module;
  Computation& main = module.add_function("main");
  main.set_results({main.add_parameter(kF32)});
  EXPECT_EQ(error_of([&] { Evaluator().run(main, {}); }),
            "INVALID_ARGUMENT: main: number of arguments, got 0, expected 1");
  const std::vector<Tensor> wrong{Tensor(1)};
  EXPECT_EQ(error_of([&] { Evaluator().run(main, wrong); }),
            "INVALID_ARGUMENT: main: type of argument 0, got s32[], expected f32[]");
}

TEST(EvaluatorTest, ErrorsNameTheSource) {
  Module module;
  Computation& main = module.add_function("main");
  Builder b(main);
  b.set_metadata({.name = "caller"});
  const Instruction* call = b.op(Opcode::call, {}, CallAttrs{"missing"}, {kF32});
  main.set_results({main.instructions()[0]->result()});
  EXPECT_EQ(error_of([&] { Evaluator().evaluate(*call, {}); }),
            "NOT_FOUND: call: callee, got 'missing', expected a function of the module, node "
            "'caller'");
  EXPECT_THAT(error_of([&] { Evaluator().evaluate(*main.terminator(), {}); }),
              HasSubstr("INTERNAL: evaluate: got 'return', expected an opcode with a value"));
}

// Sums 0 .. n-1 with a value of the function around the loop as the step.
void build_loop(Computation& main) {
  const Value n = main.add_parameter(kS32);
  const Value step = main.add_parameter(kS32);
  Builder b(main);
  const Value zero = b.scalar(DType::s32, 0);
  Instruction* loop =
      b.op_with_regions(Opcode::while_, {zero, zero}, NoAttrs{}, [&](Instruction& op) {
        Computation& cond = op.add_region();
        const Value i = cond.add_parameter(kS32);
        cond.add_parameter(kS32);
        cond.set_results({Builder(cond).compare(i, n, ComparisonDirection::lt)});
        Computation& body = op.add_region();
        const Value j = body.add_parameter(kS32);
        const Value sum = body.add_parameter(kS32);
        Builder in_body(body);
        body.set_results({in_body.add(j, step), in_body.add(sum, j)});
      });
  main.set_results({loop->result(1)});
}

TEST(EvaluatorTest, RegionsSeeTheValuesAround) {
  Module module;
  Computation& main = module.add_function("main");
  build_loop(main);
  const std::vector<Tensor> arguments{Tensor(10), Tensor(2)};
  EXPECT_EQ(Evaluator().run(main, arguments)[0].item<int32_t>(), 20);
}

TEST(EvaluatorTest, NestedRegionsSeeAllLevels) {
  Module module;
  Computation& main = module.add_function("main");
  const Value condition = main.add_parameter({DType::pred, {}});
  const Value x = main.add_parameter(kF32);
  Builder b(main);
  const Value doubled = b.add(x, x);
  Instruction* outer = b.op_with_regions(Opcode::if_, {condition}, NoAttrs{}, [&](Instruction& op) {
    Computation& region = op.add_region();
    Builder in_region(region);
    const Value tripled = in_region.add(doubled, x);
    Instruction* inner =
        in_region.op_with_regions(Opcode::if_, {condition}, NoAttrs{}, [&](Instruction& deeper) {
          Computation& innermost = deeper.add_region();
          innermost.set_results({Builder(innermost).multiply(tripled, doubled)});
          deeper.add_region().set_results({x});
        });
    region.set_results({inner->result()});
    op.add_region().set_results({x});
  });
  main.set_results({outer->result()});
  const std::vector<Tensor> arguments{Tensor(true), Tensor(2.0F)};
  EXPECT_EQ(Evaluator().run(main, arguments)[0].item<float>(), 24);
}

TEST(EvaluatorTest, OneModuleFromSeveralThreads) {
  Module module;
  Computation& main = module.add_function("main");
  build_loop(main);
  std::vector<int32_t> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Tensor> arguments{Tensor(100), Tensor(static_cast<int32_t>(t + 1))};
      results[t] = Evaluator().run(main, arguments)[0].item<int32_t>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ::testing::ElementsAre(4950, 2450, 1683, 1200));
}

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// 1000 values of 1 MB, of which only the last is needed. (The address sanitizer holds back 256 MB.)
TEST(EvaluatorTest, FreesValuesAfterTheirLastUse) {
  Module module;
  Computation& main = module.add_function("main");
  const Tensor large = Tensor::zeros(DType::u8, {1 << 20});
  Value x = main.add_parameter(large.type());
  Builder b(main);
  const Value one = b.splat({DType::u8, {1}}, 1);
  const Value start[] = {b.scalar(DType::s32, 0)};
  for (int i = 0; i < 1000; ++i) x = b.dynamic_update_slice(x, one, start);
  main.set_results({x});
  const std::vector<Tensor> arguments{large};
  const int64_t before = peak_memory_bytes();
  EXPECT_EQ(Evaluator().run(main, arguments)[0].as_double(0), 1);
  EXPECT_LT(peak_memory_bytes() - before, int64_t{600} << 20);
}

TEST(EvaluatorTest, ValueBeforeDefinition) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32);
  Instruction* first = main.insert(Opcode::negate, {x}, {kF32});
  Instruction* second = main.insert(Opcode::abs, {x}, {kF32});
  first->set_operand(0, second->result());
  main.set_results({first->result()});
  const std::vector<Tensor> arguments{Tensor(1.0F)};
  EXPECT_THAT(error_of([&] { Evaluator().run(main, arguments); }),
              HasSubstr("got a use of 'abs' before its definition"));
}

}  // namespace
}  // namespace systole::hlo
