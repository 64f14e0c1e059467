#include "systole/hlo/passes/inline_calls.h"

#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/equivalence.h"
#include "systole/hlo/testing/sketch.h"

namespace systole::hlo {
namespace {

const TensorType kF{DType::f32, {3}};

// name(x, y) = (made of x and y by `body`)
void add_function(Module& module, std::string name,
                  const std::function<std::vector<Value>(Builder&, Value, Value)>& body) {
  Computation& function = module.add_function(std::move(name));
  const Value x = function.add_parameter(kF);
  const Value y = function.add_parameter(kF);
  Builder builder(function);
  function.set_results(body(builder, x, y));
}

Instruction* call(Builder& b, std::string name, Value x, Value y) {
  return b.op(Opcode::call, {x, y}, CallAttrs{std::move(name)});
}

TEST(InlineCalls, InnermostFirstAlsoInRegions) {
  Module module;
  add_function(module, "both", [](Builder& b, Value x, Value y) {
    return std::vector<Value>{b.add(x, y), b.subtract(x, y)};
  });
  add_function(module, "twice", [](Builder& b, Value x, Value y) {
    Instruction* both = call(b, "both", x, y);
    return std::vector<Value>{call(b, "both", both->result(1), both->result(0))->result(1)};
  });
  add_function(module, "main", [](Builder& b, Value x, Value y) {
    const Value p = b.scalar(DType::pred, 1);
    Instruction* op = b.op_with_regions(Opcode::if_, {p}, NoAttrs{}, [&](Instruction& branches) {
      for (int r = 0; r < 2; ++r) {
        Builder inner(branches.add_region());
        inner.computation().set_results({call(inner, "twice", y, x)->result()});
      }
    });
    return std::vector<Value>{op->result(), call(b, "both", x, x)->result(0)};
  });
  verify(module);
  const auto before = module.clone();
  EXPECT_TRUE(InlineCalls().run(module));
  verify(module);
  EXPECT_EQ(testing::sketch(module.entry()),
            "if(1)[subtract(subtract(p1, p0), add(p1, p0))][subtract(subtract(p1, p0), add(p1, "
            "p0))]; add(p0, p0)");
  EXPECT_EQ(testing::run_difference(*before, module, 3, true), "");
  EXPECT_FALSE(InlineCalls().run(module));
}

TEST(InlineCalls, FunctionThatReturnsItsParameters) {
  Module module;
  add_function(module, "swap", [](Builder&, Value x, Value y) { return std::vector<Value>{y, x}; });
  add_function(module, "main", [](Builder& b, Value x, Value y) {
    Instruction* swapped = call(b, "swap", x, y);
    return std::vector<Value>{swapped->result(0), swapped->result(1)};
  });
  EXPECT_TRUE(InlineCalls().run(module));
  verify(module);
  EXPECT_EQ(testing::sketch(module.entry()), "p1; p0");
}

TEST(InlineCalls, LeavesRecursionToTheVerifier) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF);
  Builder b(main);
  main.set_results({b.op(Opcode::call, {x}, CallAttrs{"main"}, {kF})->result()});
  EXPECT_FALSE(InlineCalls().run(module));
}

// A pass over callees first makes n * n / 2 copies, which the budget of passes refuses.
TEST(InlineCalls, MakesEachInstructionOfDeepCallsOnce) {
  constexpr int kDepth = 3000;
  Module module;
  add_function(module, "f0", [](Builder& b, Value x, Value y) {
    return std::vector<Value>{b.add(x, y), y};
  });
  for (int i = 1; i < kDepth; ++i) {
    add_function(module, fmt::format("f{}", i), [&](Builder& b, Value x, Value y) {
      Instruction* inner = call(b, fmt::format("f{}", i - 1), b.negate(x), y);
      return std::vector<Value>{b.add(inner->result(0), y), inner->result(1)};
    });
  }
  add_function(module, "main", [](Builder& b, Value x, Value y) {
    return std::vector<Value>{call(b, fmt::format("f{}", kDepth - 1), x, y)->result(0)};
  });
  int made = module.entry().num_instructions();
  EXPECT_TRUE(InlineCalls().run(module));
  made = module.entry().num_instructions() - made;
  EXPECT_EQ(made, 2 * kDepth - 2);
  EXPECT_EQ(module.find_function("f2")->num_instructions(), 6) << "keeps its call";
  verify(module);
}

}  // namespace
}  // namespace systole::hlo
