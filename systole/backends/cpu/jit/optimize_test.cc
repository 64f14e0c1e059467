#include "systole/backends/cpu/jit/optimize.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include "systole/backends/cpu/jit/jit.h"
#include "systole/base/error.h"

namespace systole::cpu {
namespace {

// The greatest of `turns` rows of 64 elements, one row after another, in `groups` groups.
std::string greatest_of_rows(int groups, int turns) {
  return fmt::format(R"(
define void @main(ptr noalias %x, ptr noalias %y) {{
entry:
  br label %group
group:
  %g = phi i64 [ 0, %entry ], [ %gn, %group.end ]
  br label %turn
turn:
  %t = phi i64 [ 0, %group ], [ %tn, %turn.end ]
  %row0 = mul i64 %g, {}
  %row1 = add i64 %row0, %t
  %row = mul i64 %row1, 64
  br label %element
element:
  %e = phi i64 [ 0, %turn ], [ %en, %element ]
  %at = add i64 %row, %e
  %from = getelementptr inbounds float, ptr %x, i64 %at
  %to = getelementptr inbounds float, ptr %y, i64 %e
  %a = load float, ptr %from
  %b = load float, ptr %to
  %m = call float @llvm.maximum.f32(float %a, float %b)
  store float %m, ptr %to
  %en = add i64 %e, 1
  %more.e = icmp slt i64 %en, 64
  br i1 %more.e, label %element, label %turn.end
turn.end:
  %tn = add i64 %t, 1
  %more.t = icmp slt i64 %tn, {}
  br i1 %more.t, label %turn, label %group.end
group.end:
  %gn = add i64 %g, 1
  %more.g = icmp slt i64 %gn, {}
  br i1 %more.g, label %group, label %end
end:
  ret void
}}
declare float @llvm.maximum.f32(float, float)
)",
                     turns, turns, groups);
}

// The code after optimisation.
class Optimized {
 public:
  explicit Optimized(const std::string& text) {
    const std::unique_ptr<Jit> jit = Jit::create();  // initialises LLVM
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(text, error, context_);
    if (module_ == nullptr) throw internal_error("{}", error.getMessage().str());
    set_function_attributes(*module_, jit->target());
    auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    const auto machine = llvm::cantFail(builder.createTargetMachine());
    module_->setDataLayout(machine->createDataLayout());
    optimize_module(*module_, *machine, true);
  }

  unsigned size() const { return module_->getFunction("main")->getInstructionCount(); }
  bool has_vectors() const {
    for (const llvm::BasicBlock& block : *module_->getFunction("main")) {
      for (const llvm::Instruction& x : block) {
        if (x.getType()->isVectorTy()) return true;
      }
    }
    return false;
  }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST(Optimize, KeepsLoopsOverChannels) {
  const Optimized many(greatest_of_rows(100, 100));
  EXPECT_TRUE(many.has_vectors());
  // No longer than for a hundred rows: twelve are not written out one by one.
  EXPECT_EQ(Optimized(greatest_of_rows(100, 12)).size(), many.size());
  EXPECT_EQ(Optimized(greatest_of_rows(12, 100)).size(), many.size());
}

TEST(Optimize, WritesShortWindowsOut) {
  const auto window = [](int turns) {
    return fmt::format(R"(
define float @main(ptr noalias %x) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  %s = phi float [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %a = load float, ptr %p
  %t = fadd float %s, %a
  %n = add i64 %i, 1
  %more = icmp slt i64 %n, {}
  br i1 %more, label %loop, label %end
end:
  ret float %t
}})",
                       turns);
  };
  const Optimized short_one(window(3));
  EXPECT_EQ(short_one.size(), 3 * 3);  // loads, sums, places but the first, and the return
  EXPECT_LT(Optimized(window(1000)).size(), 2 * short_one.size());
}

}  // namespace
}  // namespace systole::cpu
