#include "systole/backends/cpu/jit/parts.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "systole/base/error.h"

namespace systole::cpu {
namespace {

// Instructions that take as long as it takes to begin another part.
constexpr int64_t kWorthAPart = 500;

// Approximate compile time, in optimised instructions.
int64_t work_of(const llvm::Function& function) {
  const int64_t count = function.getInstructionCount();
  return function.hasOptNone() ? count / 4 : count;
}

struct Load {
  Part part;
  int64_t work = 0;
};

}  // namespace

std::vector<Part> plan_parts(const llvm::Module& module, int most) {
  std::vector<const llvm::Function*> functions;
  int64_t total = 0;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    functions.push_back(&function);
    total += work_of(function);
  }
  std::ranges::stable_sort(functions, std::ranges::greater(),
                           [](const llvm::Function* f) { return work_of(*f); });
  std::vector<Load> loads(
      static_cast<size_t>(std::clamp<int64_t>(total / kWorthAPart, 1, std::max(most, 1))));
  // The largest first, each to the part that has the least to do.
  for (const llvm::Function* function : functions) {
    Load& least = *std::ranges::min_element(loads, {}, &Load::work);
    least.part.push_back(function->getName().str());
    least.work += work_of(*function);
  }
  std::ranges::stable_sort(loads, std::ranges::greater(), &Load::work);
  std::vector<Part> parts;
  for (Load& load : loads) {
    if (!load.part.empty()) parts.push_back(std::move(load.part));
  }
  return parts;
}

void share_functions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.hasLocalLinkage()) function.setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
}

std::unique_ptr<llvm::Module> read_part(llvm::StringRef bitcode, const Part& part,
                                        llvm::LLVMContext& context) {
  const auto check = [](llvm::Error error) {
    if (error) throw internal_error("LLVM: {}", llvm::toString(std::move(error)));
  };
  auto read = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "program"), context);
  if (!read) check(read.takeError());
  std::unique_ptr<llvm::Module> module = std::move(*read);
  const std::unordered_set<std::string> wanted(part.begin(), part.end());
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration() && !wanted.contains(function.getName().str()))
      function.deleteBody();
  }
  check(module->materializeAll());
  return module;
}

std::string join_objects(const std::vector<std::string>& objects) {
  std::string joined;
  for (const std::string& object : objects) {
    std::array<char, sizeof(uint64_t)> length;
    llvm::support::endian::write64le(length.data(), object.size());
    joined.append(length.data(), length.size()).append(object);
  }
  return joined;
}

std::vector<std::string_view> split_objects(std::string_view joined) {
  std::vector<std::string_view> objects;
  while (!joined.empty()) {
    if (joined.size() < sizeof(uint64_t)) return {};
    const uint64_t length = llvm::support::endian::read64le(joined.data());
    joined.remove_prefix(sizeof(uint64_t));
    if (length > joined.size()) return {};
    objects.push_back(joined.substr(0, length));
    joined.remove_prefix(length);
  }
  return objects;
}

}  // namespace systole::cpu
