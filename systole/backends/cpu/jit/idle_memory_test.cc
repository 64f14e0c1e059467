#include "systole/backends/cpu/jit/idle_memory.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <llvm-c/Core.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <fstream>
#include <sstream>
#include <string>

#include "systole/backends/cpu/jit/jit.h"

namespace systole::cpu {
namespace {

// An empty main. Returns an empty record.
std::string fill_empty_module(llvm::Module& module) {
  llvm::LLVMContext& c = module.getContext();
  auto* pointer = llvm::PointerType::get(c, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c),
                                       {pointer, pointer, pointer, pointer}, false);
  auto* main = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "main", module);
  llvm::ReturnInst::Create(c, llvm::BasicBlock::Create(c, "start", main));
  return {};
}

void compile_something(Jit& jit) {
  const JitResult result = jit.compile("empty", &fill_empty_module, {.optimize = true});
  result.code->main()(nullptr, nullptr, nullptr, nullptr);
}

// Resident bytes of mappings of LLVM's file that cannot be written.
int64_t resident_code_bytes() {
  Dl_info info{};
  EXPECT_NE(dladdr(reinterpret_cast<const void*>(&LLVMGetVersion), &info), 0);
  const std::string path = info.dli_fname;
  const std::string name = path.substr(path.rfind('/') + 1);
  std::ifstream maps("/proc/self/smaps");
  int64_t kilobytes = 0;
  bool counted = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    words >> first >> second;
    if (first.find('-') != std::string::npos) {
      counted = line.find(name) != std::string::npos && second.find('x') != std::string::npos;
    } else if (counted && first == "Rss:") {
      kilobytes += std::stoll(second);
    }
  }
  return kilobytes * 1024;
}

void write_something() {
  llvm::LLVMContext context;
  llvm::Module module("program", context);
  fill_empty_module(module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  EXPECT_NE(stream.str().find("main"), std::string::npos);
}

TEST(IdleMemory, CodeIsGivenBackAndComesAgain) {
  write_something();
  const int64_t used = resident_code_bytes();
  release_compile_memory();
  const int64_t released = resident_code_bytes();
  EXPECT_LT(released, used);
  write_something();
  EXPECT_GT(resident_code_bytes(), released);
}

TEST(IdleMemory, IsReleasedNowAndThen) {
  using std::chrono::milliseconds;
  OnceASecond release;
  const auto start = OnceASecond::Clock::time_point(milliseconds(5000));
  EXPECT_TRUE(release.is_due(start));
  EXPECT_FALSE(release.is_due(start + milliseconds(10)));
  EXPECT_FALSE(release.is_due(start + milliseconds(999)));
  EXPECT_TRUE(release.is_due(start + milliseconds(1000)));
  EXPECT_FALSE(release.is_due(start + milliseconds(1900)));
}

TEST(IdleMemory, CompilesAfterwards) {
  const auto jit = Jit::create();
  for (int i = 0; i < 2; ++i) {
    compile_something(*jit);
    release_compile_memory();
  }
}

}  // namespace
}  // namespace systole::cpu
