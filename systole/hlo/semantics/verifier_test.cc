#include "systole/hlo/semantics/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const TensorType kF32{DType::f32, {}};
const TensorType kPred{DType::pred, {}};

// main(x) returns -x.
class VerifierTest : public ::testing::Test {
 protected:
  std::string error() {
    return error_of([this] { verify(module_); });
  }

  Module module_;
  Computation& main_ = module_.add_function("main");
  Value x_ = main_.add_parameter(kF32, {.name = "x"});
  Instruction* negate_ = main_.insert(Opcode::negate, {x_}, {kF32});

  VerifierTest() { main_.set_results({negate_->result()}); }
};

TEST_F(VerifierTest, AcceptsWhatIsWellFormed) {
  module_.aliases = {{0, 0}};
  EXPECT_EQ(error(), "no error");
}

TEST_F(VerifierTest, NoReturn) {
  module_.add_function("f");
  EXPECT_EQ(error(), "INTERNAL: f: last instruction, got none, expected one return");
  module_.find_function("f")->add_parameter(kF32);
  EXPECT_THAT(error(), HasSubstr("f: last instruction, got parameter, expected one return"));
}

TEST_F(VerifierTest, ReturnInTheMiddle) {
  main_.insert(Opcode::return_, {x_}, {}, NoAttrs{}, negate_);
  EXPECT_EQ(error(),
            "INTERNAL: return: got one inside 'main', expected it at the end alone, from 'return' "
            "in 'main'");
}

TEST_F(VerifierTest, ParametersNotNumbered) {
  x_.def->set_attrs(ParameterAttrs{1});
  EXPECT_THAT(error(), HasSubstr("INTERNAL: main: parameter 0, got one out of order"));
  x_.def->set_attrs(NoAttrs{});
  EXPECT_THAT(error(), HasSubstr("parameter 0, got one out of order"));
  x_.def->set_attrs(ParameterAttrs{0});
  main_.insert(Opcode::parameter, {}, {kF32}, ParameterAttrs{1});
  EXPECT_THAT(error(), HasSubstr("parameter 1, got one out of order"));
}

TEST_F(VerifierTest, UseBeforeDefinition) {
  Instruction* abs = main_.insert(Opcode::abs, {x_}, {kF32});
  negate_->set_operand(0, abs->result());
  negate_->set_metadata({.name = "layer/neg"});
  EXPECT_EQ(error(),
            "INTERNAL: negate: operand, got a value of 'abs' that is not defined before its use, "
            "from node 'layer/neg'");
}

TEST_F(VerifierTest, ValueOfARegionUsedOutside) {
  const Value condition = main_.add_parameter(kPred);
  Instruction* branch =
      Builder(main_).op_with_regions(Opcode::if_, {condition}, NoAttrs{}, [&](Instruction& op) {
        Computation& region = op.add_region();
        region.set_results({Builder(region).negate(x_)});
        op.add_region().set_results({x_});
      });
  EXPECT_EQ(error(), "no error");
  main_.set_results({branch->region(0).results()[0]});
  EXPECT_THAT(error(), HasSubstr("got a value of 'negate' that is not defined before its use"));
}

TEST_F(VerifierTest, ResultIndexOutOfRange) {
  main_.set_results({Value{negate_, 1}});
  EXPECT_THAT(error(), HasSubstr("return: operand, got result 1 of 'negate', expected below 1"));
}

TEST_F(VerifierTest, TypesAgainstInference) {
  main_.set_results({main_.insert(Opcode::negate, {x_}, {{DType::f32, {2}}})->result()});
  EXPECT_EQ(error(),
            "INVALID_ARGUMENT: negate: declared result types, got (f32[2]), expected (f32[]), from "
            "'negate' in 'main'");
}

TEST_F(VerifierTest, NumberOfResults) {
  main_.insert(Opcode::negate, {x_}, {});
  EXPECT_THAT(error(), HasSubstr("negate: result types, got (), expected (f32[])"));
}

TEST_F(VerifierTest, OperandAndRegionCounts) {
  Instruction* add = main_.insert(Opcode::add, {x_}, {kF32});
  EXPECT_THAT(error(), HasSubstr("add: number of operands, got 1, expected 2"));
  main_.erase(add);
  Instruction* negate = main_.insert(Opcode::negate, {x_}, {kF32});
  negate->add_region().set_results({x_});
  EXPECT_THAT(error(), HasSubstr("negate: number of regions, got 1, expected 0"));
}

TEST_F(VerifierTest, AttributesOfAnotherOpcode) {
  main_.insert(Opcode::iota, {}, {{DType::f32, {2}}}, TransposeAttrs{});
  EXPECT_THAT(error(), HasSubstr("INTERNAL: iota: attributes, got those of another opcode"));
  main_.insert(Opcode::call, {}, {kF32}, TransposeAttrs{}, main_.instructions()[1]);
  EXPECT_THAT(error(), HasSubstr("INTERNAL: call: attributes, got those of another opcode"));
}

TEST_F(VerifierTest, UnknownDimensions) {
  const TensorType unknown{DType::f32, {kUnknown}};
  main_.add_parameter(unknown);
  EXPECT_THAT(error(), HasSubstr("parameter: type, got f32[?], expected a static shape"));
}

TEST_F(VerifierTest, InnermostInstructionIsNamedOnce) {
  const Value condition = main_.add_parameter(kPred);
  Instruction* branch =
      Builder(main_).op_with_regions(Opcode::if_, {condition}, NoAttrs{}, [&](Instruction& op) {
        op.add_region().set_results({x_});
        op.add_region().set_results({x_});
      });
  branch->set_metadata({.name = "cond"});
  Instruction* bad = branch->region(0).insert(Opcode::abs, {x_}, {{DType::f32, {7}}});
  bad->set_metadata({.name = "cond/abs"});
  EXPECT_EQ(error(),
            "INVALID_ARGUMENT: abs: declared result types, got (f32[7]), expected (f32[]), from "
            "node 'cond/abs'");
}

TEST_F(VerifierTest, Calls) {
  Instruction* call = main_.insert(Opcode::call, {x_}, {kF32}, CallAttrs{"f"});
  EXPECT_THAT(error(), HasSubstr("call: callee, got 'f', expected a function of the module"));
  Computation& f = module_.add_function("f");
  const Value a = f.add_parameter(kF32);
  f.set_results({a});
  EXPECT_EQ(error(), "no error");
  call->set_attrs(CallAttrs{"main"});
  EXPECT_EQ(error(),
            "INVALID_ARGUMENT: call: callee, got 'main' from within itself, expected no recursion");
  call->set_attrs(CallAttrs{"f"});
  f.set_results({f.insert(Opcode::call, {a}, {kF32}, CallAttrs{"main"})->result()});
  EXPECT_THAT(error(), HasSubstr("from within itself, expected no recursion"));
}

TEST_F(VerifierTest, Aliases) {
  main_.add_parameter({DType::f32, {3}});
  module_.aliases = {{0, 1}};
  EXPECT_THAT(error(),
              AllOf(StartsWith("INVALID_ARGUMENT"),
                    HasSubstr("alias: got parameter 0 and result 1, expected below 2 and 1")));
  module_.aliases = {{-1, 0}};
  EXPECT_THAT(error(), HasSubstr("alias: got parameter -1 and result 0"));
  module_.aliases = {{1, 0}};
  EXPECT_THAT(error(), HasSubstr("alias: types of parameter 1 and result 0, got f32[3] and f32[]"));
  module_.aliases = {{0, 0}, {0, 0}};
  EXPECT_THAT(error(), HasSubstr("alias: got parameter 0 or result 0 twice, expected once"));
}

}  // namespace
}  // namespace systole::hlo
