#include "systole/backends/cpu/jit/parts.h"

#include <gtest/gtest.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "systole/base/error.h"

namespace systole::cpu {
namespace {

// A function of `length` additions, which calls `callee` where there is one.
llvm::Function* add_function(llvm::Module& module, const std::string& name, int length,
                             llvm::Function* callee = nullptr) {
  llvm::LLVMContext& c = module.getContext();
  auto* i64 = llvm::Type::getInt64Ty(c);
  auto* type = llvm::FunctionType::get(i64, {i64}, false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "start", f));
  llvm::Value* x = f->getArg(0);
  for (int i = 0; i < length; ++i) x = b.CreateAdd(x, f->getArg(0));
  b.CreateRet(callee == nullptr ? x : b.CreateCall(callee, {x}));
  return f;
}

std::string bitcode_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::WriteBitcodeToFile(module, stream);
  return std::move(stream.str());
}

TEST(Parts, AreOfAboutEqualWork) {
  llvm::LLVMContext context;
  llvm::Module module("program", context);
  for (const int length : {900, 500, 400, 300, 600})
    add_function(module, "f" + std::to_string(length), length);
  const std::vector<Part> parts = plan_parts(module, 3);
  ASSERT_EQ(parts.size(), 3);
  EXPECT_EQ(parts[0], Part({"f600", "f300"}));
  EXPECT_EQ(parts[1], Part({"f500", "f400"}));
  EXPECT_EQ(parts[2], Part({"f900"}));
  EXPECT_EQ(plan_parts(module, 1).size(), 1);
}

TEST(Parts, OfASmallModuleAreOne) {
  llvm::LLVMContext context;
  llvm::Module module("program", context);
  for (int i = 0; i < 4; ++i) add_function(module, "f", 100);
  EXPECT_EQ(plan_parts(module, 4).size(), 1);
}

TEST(Parts, HaveTheirOwnCodeAndNameTheOthers) {
  llvm::LLVMContext context;
  llvm::Module module("program", context);
  add_function(module, "main", 10, add_function(module, "helper", 20));
  share_functions(module);
  const std::string bitcode = bitcode_of(module);
  for (const std::string own : {"main", "helper"}) {
    llvm::LLVMContext other;
    const auto part = read_part(bitcode, {own}, other);
    for (const std::string name : {"main", "helper"}) {
      const llvm::Function* f = part->getFunction(name);
      ASSERT_NE(f, nullptr);
      EXPECT_EQ(f->isDeclaration(), name != own) << name << " in the part of " << own;
      EXPECT_TRUE(f->hasExternalLinkage());
    }
    EXPECT_FALSE(llvm::verifyModule(*part, &llvm::errs()));
  }
}

TEST(Parts, RefusesWhatIsNoBitcode) {
  llvm::LLVMContext context;
  EXPECT_THROW(read_part("no bitcode", {"main"}, context), Error);
}

TEST(Parts, JoinAndSplitAgain) {
  const std::vector<std::string> objects = {"one", "", std::string(300, 'x')};
  const std::string joined = join_objects(objects);
  const std::vector<std::string_view> split = split_objects(joined);
  EXPECT_EQ(std::vector<std::string>(split.begin(), split.end()), objects);
  EXPECT_TRUE(split_objects("").empty());
  for (size_t size = 1; size < joined.size(); ++size) {
    const std::vector<std::string_view> parts =
        split_objects(std::string_view(joined).substr(0, size));
    EXPECT_LT(parts.size(), objects.size()) << size;
  }
  EXPECT_TRUE(split_objects(std::string(20, '\xff')).empty());
}

}  // namespace
}  // namespace systole::cpu
