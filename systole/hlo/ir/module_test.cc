#include "systole/hlo/ir/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const TensorType kF32{DType::f32, {}};

std::vector<Opcode> opcodes_of(const Computation& computation) {
  std::vector<Opcode> result;
  for (const Instruction* instruction : computation.instructions()) {
    result.push_back(instruction->opcode());
  }
  return result;
}

// if (condition) { return x + x } else { return x }
Instruction* add_if(Builder& b, Value condition, Value x) {
  return b.op_with_regions(Opcode::if_, {condition}, NoAttrs{}, [&](Instruction& op) {
    Computation& on_true = op.add_region();
    on_true.set_results({Builder(on_true).add(x, x)});
    op.add_region().set_results({x});
  });
}

TEST(MetadataTest, ToString) {
  const std::source_location here = std::source_location::current();
  const std::string place = fmt::format("module_test.cc:{}", here.line());
  EXPECT_EQ((Metadata{.name = "dense/MatMul", .where = here}).to_string(),
            "node 'dense/MatMul' at " + place);
  EXPECT_EQ((Metadata{.name = "x"}).to_string(), "node 'x'");
  EXPECT_EQ((Metadata{.where = here}).to_string(), "at " + place);
  EXPECT_EQ(Metadata{}.to_string(), "");
}

TEST(InstructionTest, DescribeNamesTheSource) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32, {.name = "x"});
  Instruction* add = main.insert(Opcode::add, {x, x}, {kF32});
  EXPECT_EQ(x.def->describe(), "from node 'x'");
  EXPECT_EQ(add->describe(), "from 'add' in 'main'");
}

TEST(InstructionTest, UsersFollowOperands) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32);
  const Value y = main.add_parameter(kF32);
  Instruction* add = main.insert(Opcode::add, {x, x}, {kF32});
  Instruction* sub = main.insert(Opcode::subtract, {x, y}, {kF32});
  EXPECT_THAT(x.def->users(), UnorderedElementsAre(add, add, sub));
  add->set_operand(1, y);
  EXPECT_THAT(x.def->users(), UnorderedElementsAre(add, sub));
  EXPECT_THAT(y.def->users(), UnorderedElementsAre(add, sub));
  sub->set_operands({y, y});
  EXPECT_THAT(x.def->users(), ElementsAre(add));
  main.erase(add);
  EXPECT_TRUE(x.def->unused());
  EXPECT_THAT(y.def->users(), ElementsAre(sub, sub));
}

TEST(ComputationTest, OrderOfParametersInstructionsAndReturn) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32);
  Instruction* negate = main.insert(Opcode::negate, {x}, {kF32});
  main.set_results({negate->result()});
  const Value y = main.add_parameter(kF32);
  Instruction* add = main.insert(Opcode::add, {negate->result(), y}, {kF32});
  Instruction* abs = main.insert(Opcode::abs, {x}, {kF32}, NoAttrs{}, negate);
  main.set_results({add->result()});
  EXPECT_THAT(main.instructions(), ElementsAre(x.def, y.def, abs, negate, add, main.terminator()));
  main.move_before(abs, add);
  main.move_before(add, add);
  EXPECT_THAT(main.instructions(), ElementsAre(x.def, y.def, negate, abs, add, main.terminator()));
  EXPECT_EQ(main.num_instructions(), 6);
  EXPECT_EQ(y.def->attrs<ParameterAttrs>().index, 1);
  EXPECT_TRUE(negate->users().size() == 1 && !add->unused());
  verify(module);
}

TEST(ComputationTest, ResultsBeforeReturn) {
  Module module;
  Computation& main = module.add_function("main");
  EXPECT_FALSE(main.has_results());
  EXPECT_EQ(error_of([&] { (void)main.results(); }),
            "INTERNAL: main: results, got no return yet, expected set_results before");
}

TEST(ComputationTest, EraseNeedsNoUsers) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32);
  main.set_results({x});
  EXPECT_THAT(error_of([&] { main.erase(x.def); }), HasSubstr("erase, got 1 uses, expected none"));
  EXPECT_THAT(error_of([&] { main.erase_parameter(0); }),
              HasSubstr("erase of parameter 0, got 1 uses, expected none"));
  main.erase(main.terminator());
  EXPECT_FALSE(main.has_results());
  main.erase(x.def);
  EXPECT_EQ(main.num_instructions(), 0);
  EXPECT_EQ(main.num_parameters(), 0);
}

TEST(ComputationTest, EraseParameterRenumbers) {
  Module module;
  Computation& main = module.add_function("main");
  std::vector<Value> parameters;
  parameters.reserve(4);
  for (int i = 0; i < 4; ++i) parameters.push_back(main.add_parameter(kF32));
  main.set_results({parameters[0], parameters[3]});
  main.erase_parameter(1);
  ASSERT_EQ(main.num_parameters(), 3);
  EXPECT_EQ(main.parameter(1), parameters[2]);
  EXPECT_EQ(main.parameter(2), parameters[3]);
  EXPECT_EQ(parameters[3].def->attrs<ParameterAttrs>().index, 2);
  verify(module);
}

TEST(ComputationTest, ReplaceAllUsesReachesIntoRegions) {
  Module module;
  Computation& main = module.add_function("main");
  const Value condition = main.add_parameter({DType::pred, {}});
  const Value x = main.add_parameter(kF32);
  const Value y = main.add_parameter(kF32);
  Builder b(main);
  Instruction* branch = add_if(b, condition, x);
  main.set_results({branch->result(), x});
  Computation::replace_all_uses(x, y);
  EXPECT_TRUE(x.def->unused());
  EXPECT_EQ(y.def->users().size(), 4U);
  EXPECT_EQ(branch->region(0).results()[0].def->operand(0), y);
  EXPECT_EQ(branch->region(1).results()[0], y);
  EXPECT_EQ(main.results()[1], y);
  verify(module);
}

TEST(ComputationTest, ReplaceAllUsesOfOneOfSeveralResults) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32);
  const Value y = main.add_parameter(kF32);
  Instruction* both = Builder(main).op(Opcode::optimization_barrier, {x, y});
  Instruction* add = main.insert(Opcode::add, {both->result(0), both->result(1)}, {kF32});
  main.set_results({add->result()});
  Computation::replace_all_uses(both->result(0), both->result(1));
  EXPECT_EQ(add->operand(0), both->result(1));
  EXPECT_EQ(add->operand(1), both->result(1));
  EXPECT_THAT(both->users(), ElementsAre(add, add));
  Computation::replace_all_uses(both->result(1), both->result(1));
  EXPECT_THAT(both->users(), ElementsAre(add, add));
  verify(module);
}

TEST(ComputationTest, EraseWithRegionReleasesCapturedValues) {
  Module module;
  Computation& main = module.add_function("main");
  const Value condition = main.add_parameter({DType::pred, {}});
  const Value x = main.add_parameter(kF32);
  Builder b(main);
  Instruction* branch = add_if(b, condition, x);
  main.set_results({x});
  EXPECT_EQ(x.def->users().size(), 4U);
  main.erase(branch);
  EXPECT_THAT(x.def->users(), ElementsAre(main.terminator()));
  EXPECT_TRUE(condition.def->unused());
}

TEST(ComputationTest, Encloses) {
  Module module;
  Computation& main = module.add_function("main");
  Computation& other = module.add_function("other");
  const Value condition = main.add_parameter({DType::pred, {}});
  const Value x = main.add_parameter(kF32);
  Builder b(main);
  Instruction* branch = add_if(b, condition, x);
  EXPECT_TRUE(main.encloses(main));
  EXPECT_TRUE(main.encloses(branch->region(0)));
  EXPECT_FALSE(branch->region(0).encloses(main));
  EXPECT_FALSE(branch->region(0).encloses(branch->region(1)));
  EXPECT_FALSE(other.encloses(main));
  EXPECT_EQ(branch->region(0).owner(), branch);
  EXPECT_EQ(main.owner(), nullptr);
}

TEST(ComputationTest, InlineFromMapsParametersAndCaptures) {
  Module module;
  Computation& callee = module.add_function("callee");
  const Value condition = callee.add_parameter({DType::pred, {}});
  const Value a = callee.add_parameter(kF32);
  Builder in_callee(callee);
  Instruction* branch = add_if(in_callee, condition, a);
  callee.set_results({branch->result(), a});

  Computation& main = module.add_function("main");
  const Value p = main.add_parameter({DType::pred, {}});
  const Value x = main.add_parameter(kF32);
  Instruction* last = main.insert(Opcode::negate, {x}, {kF32});
  ValueMap map{{condition, p}, {a, x}};
  const std::vector<Value> results = main.inline_from(callee, map, last);
  main.set_results({results[0], last->result()});

  EXPECT_THAT(opcodes_of(main), ElementsAre(Opcode::parameter, Opcode::parameter, Opcode::if_,
                                            Opcode::negate, Opcode::return_));
  EXPECT_EQ(results[1], x);
  EXPECT_EQ(map.at(branch->result()), results[0]);
  EXPECT_EQ(results[0].def->region(0).results()[0].def->operand(0), x);
  EXPECT_EQ(&results[0].def->region(0).module(), &module);
  verify(module);
}

TEST(ModuleTest, FunctionsHaveNames) {
  Module module("m");
  EXPECT_THAT(error_of([&] { (void)module.entry(); }),
              HasSubstr("NOT_FOUND: m: entry, got 0 functions, expected one named 'main'"));
  Computation& f = module.add_function("f");
  Computation& main = module.add_function("main");
  EXPECT_EQ(module.find_function("f"), &f);
  EXPECT_EQ(module.find_function("g"), nullptr);
  EXPECT_EQ(&module.entry(), &main);
  EXPECT_THAT(error_of([&] { module.add_function("f"); }),
              HasSubstr("ALREADY_EXISTS: m: function, got 'f' again, expected a new name"));
}

TEST(ModuleTest, CloneIsIndependent) {
  auto original = std::make_unique<Module>("m");
  Computation& main = original->add_function("main");
  const Value condition = main.add_parameter({DType::pred, {}}, {.name = "c"});
  const Value x = main.add_parameter(kF32);
  Builder b(main);
  b.set_metadata({.name = "branch"});
  main.set_results({add_if(b, condition, x)->result()});
  main.terminator()->set_metadata({.name = "end"});
  original->aliases = {{1, 0}};

  const std::unique_ptr<Module> copy = original->clone();
  original.reset();
  verify(*copy);
  EXPECT_EQ(copy->name(), "m");
  EXPECT_THAT(copy->aliases, ElementsAre(Module::Alias{1, 0}));
  const Computation& entry = copy->entry();
  EXPECT_EQ(entry.parameter(0).def->metadata().name, "c");
  EXPECT_EQ(entry.results()[0].def->metadata().name, "branch");
  EXPECT_EQ(entry.terminator()->metadata().name, "end");
  const std::vector<Tensor> arguments{Tensor(true), Tensor(3.0F)};
  EXPECT_EQ(Evaluator().run(entry, arguments)[0].item<float>(), 6);
}

TEST(ModuleTest, DestroysWhatIsNotWellFormed) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32);
  Instruction* first = main.insert(Opcode::negate, {x}, {kF32});
  Instruction* second = main.insert(Opcode::negate, {first->result()}, {kF32});
  first->set_operand(0, second->result());  // a cycle
  main.set_results({second->result()});
}

TEST(ModuleTest, TeardownOfManyUsersIsFast) {
  Module module;
  Computation& main = module.add_function("main");
  const Value x = main.add_parameter(kF32);
  std::vector<Value> results;
  results.reserve(50'000);
  for (int i = 0; i < 50'000; ++i) {
    results.push_back(main.insert(Opcode::negate, {x}, {kF32})->result());
  }
  main.set_results(std::move(results));
  const Value y = main.add_parameter(kF32);
  Computation::replace_all_uses(x, y);
  EXPECT_EQ(y.def->users().size(), 50'000U);
}

}  // namespace
}  // namespace systole::hlo
