#include "systole/backends/cpu/jit/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "systole/base/testing/error_of.h"
#include "systole/base/thread_pool.h"

namespace systole::cpu {
namespace {

using ::testing::HasSubstr;

// A function of many instructions, so that a module of several is compiled in parts. It calls
// `callee`, a function without parameters, if there is one.
llvm::Function* add_long_function(llvm::Module& module, const std::string& name,
                                  const char* callee = nullptr) {
  llvm::LLVMContext& c = module.getContext();
  auto* i64 = llvm::Type::getInt64Ty(c);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(i64, {i64}, false),
                                   llvm::GlobalValue::InternalLinkage, name, module);
  f->addFnAttr(llvm::Attribute::NoInline);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "start", f));
  llvm::Value* x = f->getArg(0);
  for (int i = 0; i < 400; ++i) x = b.CreateMul(b.CreateAdd(x, b.getInt64(i)), f->getArg(0));
  if (callee != nullptr) {
    auto external = module.getOrInsertFunction(callee, llvm::FunctionType::get(i64, false));
    x = b.CreateAdd(x, b.CreateCall(external));
  }
  b.CreateRet(x);
  return f;
}

// main stores the sum of the functions f0, f1... in its first result. f1 calls `callee`. Returns a
// record.
std::string fill_module(llvm::Module& module, const char* callee) {
  llvm::LLVMContext& c = module.getContext();
  auto* pointer = llvm::PointerType::get(c, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c),
                                       {pointer, pointer, pointer, pointer}, false);
  std::vector<llvm::Function*> functions;
  for (int i = 0; i < 4; ++i) {
    functions.push_back(
        add_long_function(module, "f" + std::to_string(i), i == 1 ? callee : nullptr));
  }
  auto* main = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "main", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "start", main));
  llvm::Value* sum = b.getInt64(0);
  for (llvm::Function* f : functions) sum = b.CreateAdd(sum, b.CreateCall(f, {b.getInt64(1)}));
  b.CreateStore(sum, b.CreateLoad(pointer, main->getArg(1)));
  b.CreateRetVoid();
  return "a record";
}

int64_t run_main(const CompiledCode& code) {
  int64_t sum = 0;
  void* results[] = {&sum};
  RunContext context;
  code.main()(nullptr, results, nullptr, &context);
  return sum;
}

// A part can be ready although another, which it calls, is not: it would jump nowhere.
TEST(Jit, RefusesCodeWithAMissingFunction) {
  const auto jit = Jit::create();
  ThreadPool pool(2);
  const auto options = [](ThreadPool* threads) {
    return JitOptions{.optimize = false, .runs_once = true, .pool = threads};
  };
  for (int i = 0; i < 3; ++i) {
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      const std::string error = systole::testing::error_of([&] {
        jit->compile(
            "bad", [](llvm::Module& module) { return fill_module(module, "no_such_function"); },
            options(threads));
      });
      EXPECT_THAT(error, HasSubstr("INTERNAL: LLVM"));
    }
    const auto good = jit->compile(
        "good", [](llvm::Module& module) { return fill_module(module, nullptr); }, options(&pool));
    EXPECT_NE(run_main(*good.code), 0);
  }
}

}  // namespace
}  // namespace systole::cpu
