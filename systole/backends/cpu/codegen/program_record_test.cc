#include "systole/backends/cpu/codegen/program_record.h"

#include <gtest/gtest.h>

#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

class ProgramRecords : public ::testing::Test {
 protected:
  ProgramRecords()
      : module_(hlo::parse(R"(
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = "stablehlo.slice"(%2) {start_indices = array<i64: 2, 0>, limit_indices = array<i64: 6, 4>, strides = array<i64: 1, 1>} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
})")) {
    for (const hlo::Instruction* x : module_->entry().instructions()) {
      if (x->is(hlo::Opcode::dot_general)) dot_ = x;
      if (x->is(hlo::Opcode::transpose)) transpose_ = x;
      if (x->is(hlo::Opcode::concatenate)) join_ = x;
    }
  }
  bool reads(const ProgramRecord& record) const {
    return read_record(write_record(record, *module_), *module_).has_value();
  }

  std::unique_ptr<hlo::Module> module_;
  const hlo::Instruction* dot_ = nullptr;
  const hlo::Instruction* transpose_ = nullptr;
  const hlo::Instruction* join_ = nullptr;
};

TEST_F(ProgramRecords, AreReadAsTheyWereWritten) {
  const ProgramRecord record{.kernels = {{KernelKind::dot, dot_},
                                         {KernelKind::join, join_, 1},
                                         {KernelKind::row_dot, dot_, 1}},
                             .steps = {{dot_, false}, {transpose_, true}, {join_, true}},
                             .has_step_loop = true};
  const auto read = read_record(write_record(record, *module_), *module_);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->kernels.size(), 3);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->kernels[i].kind, record.kernels[i].kind);
    EXPECT_EQ(read->kernels[i].x, record.kernels[i].x);
    EXPECT_EQ(read->kernels[i].argument, record.kernels[i].argument);
    EXPECT_EQ(read->steps[i].x, record.steps[i].x);
  }
  EXPECT_EQ(read->interpreted_steps(), 2);
  EXPECT_TRUE(read->has_step_loop);
}

TEST_F(ProgramRecords, NameKernelsThatTheirInstructionsHave) {
  EXPECT_TRUE(reads({.kernels = {{KernelKind::transpose, transpose_}}}));
  EXPECT_FALSE(reads({.kernels = {{KernelKind::transpose, dot_}}}));
  EXPECT_FALSE(reads({.kernels = {{KernelKind::dot, transpose_}}}));
  EXPECT_FALSE(reads({.kernels = {{KernelKind::sort, join_}}}));
  EXPECT_FALSE(reads({.kernels = {{KernelKind::product_fusion, dot_}}}));
  EXPECT_FALSE(reads({.kernels = {{KernelKind::join, join_, 2}}}));
  EXPECT_FALSE(reads({.kernels = {{KernelKind::join, join_, -1}}}));
}

TEST_F(ProgramRecords, AreRefusedWhenTheyAreDamaged) {
  const std::string bytes =
      write_record({.kernels = {{KernelKind::dot, dot_}}, .steps = {{dot_, false}}}, *module_);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_record(bytes.substr(0, size), *module_)) << size;
  EXPECT_FALSE(read_record(bytes + '\0', *module_));
  for (size_t at = 0; at < bytes.size(); at += 8) {
    std::string damaged = bytes;
    damaged.replace(at, 8, std::string(8, '\xff'));
    const auto read = read_record(damaged, *module_);
    if (!read) continue;  // or it says the same in other words
    EXPECT_EQ(read->kernels[0].x, dot_) << at;
  }
  const auto other =
      hlo::parse("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}");
  EXPECT_FALSE(read_record(bytes, *other));
}

}  // namespace
}  // namespace systole::cpu
