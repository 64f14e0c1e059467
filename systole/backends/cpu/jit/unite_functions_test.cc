#include "systole/backends/cpu/jit/unite_functions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <vector>

namespace systole::cpu {
namespace {

// x[i] = x[i] op number for `size` elements, and as many further steps as make it worth a call.
std::string function(const std::string& name, int64_t size, const std::string& step,
                     const std::string& scope = "") {
  std::string steps;
  for (int k = 0; k < 40; ++k) steps += fmt::format("  %v{} = fadd float %v{}, %x\n", k + 1, k);
  return fmt::format(R"(define internal void @{0}(ptr %p, i64 range(i64 0, {1}) %begin) {{
entry:
  %memory = alloca [{1} x float], align 64
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds float, ptr %p, i64 %i
  %x = load float, ptr %at, align 4{4}
  %v0 = {2}
{3}  store float %v40, ptr %at, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, {1}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
)",
                     name, size, step, steps, scope);
}

std::unique_ptr<llvm::Module> united(const std::string& text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  if (module == nullptr) {
    ADD_FAILURE() << error.getMessage().str();
    return module;
  }
  unite_functions(*module);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  return module;
}

// The numbers with which the function calls its form; empty where it has code of its own.
std::vector<int64_t> numbers_of(const llvm::Module& module, const std::string& name) {
  std::vector<int64_t> numbers;
  const auto* const call =
      llvm::dyn_cast<llvm::CallInst>(&module.getFunction(name)->getEntryBlock().front());
  if (call == nullptr) return numbers;
  for (const llvm::Use& argument : call->args()) {
    if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(argument))
      numbers.push_back(number->getSExtValue());
  }
  return numbers;
}

const std::string kMultiply = "fmul float %x, 2.0";

TEST(UniteFunctions, ThatDifferInASize) {
  llvm::LLVMContext context;
  const auto module = united(
      function("a", 100, kMultiply) + function("b", 300, kMultiply) + function("c", 200, kMultiply),
      context);
  EXPECT_EQ(numbers_of(*module, "a"), std::vector<int64_t>{100});
  EXPECT_EQ(numbers_of(*module, "b"), std::vector<int64_t>{300});
  EXPECT_EQ(numbers_of(*module, "c"), std::vector<int64_t>{200});
  const llvm::Function* const form = module->getFunction("a.form");
  ASSERT_NE(form, nullptr);
  EXPECT_EQ(form->arg_size(), 3);
  EXPECT_EQ(form->getAttributes().getParamAttr(1, llvm::Attribute::Range).getRange().getUpper(),
            300);
  const auto& memory = llvm::cast<llvm::AllocaInst>(form->getEntryBlock().front());
  EXPECT_EQ(memory.getAllocatedType()->getArrayNumElements(), 300);
}

TEST(UniteFunctions, ThatAreEqual) {
  llvm::LLVMContext context;
  const auto module =
      united(function("a", 100, kMultiply) + function("b", 100, kMultiply), context);
  EXPECT_NE(module->getFunction("a.form"), nullptr);
  EXPECT_EQ(module->getFunction("b")->getInstructionCount(), 2);
}

TEST(UniteFunctions, NotThatDifferInMore) {
  llvm::LLVMContext context;
  const std::string scopes =
      "!0 = distinct !{!0}\n!1 = distinct !{!1, !0, !\"systole.ahead.64\"}\n"
      "!2 = distinct !{!2, !0}\n!3 = !{!1}\n!4 = !{!2}\n";
  for (const std::string& other :
       {function("b", 300, "fadd float %x, 2.0"), function("b", 300, "fmul float %x, %x"),
        function("b", 300, kMultiply, ", !alias.scope !4"),
        std::string("define internal void @b() optnone noinline {\n  ret void\n}\n")}) {
    const auto module =
        united(function("a", 100, kMultiply, ", !alias.scope !3") + other + scopes, context);
    EXPECT_EQ(module->getFunction("a.form"), nullptr) << other;
  }
}

TEST(UniteFunctions, NotThatDivideByOtherNumbersInALoop) {
  llvm::LLVMContext context;
  std::string text;
  for (const auto& [name, by] : {std::pair{"a", 3}, {"b", 5}}) {
    text += function(name, 100, "uitofp i64 %q to float");
    text.insert(text.rfind("  %v0 ="), fmt::format("  %q = udiv i64 %i, {}\n", by));
  }
  EXPECT_EQ(united(text, context)->getFunction("a.form"), nullptr);
}

}  // namespace
}  // namespace systole::cpu
