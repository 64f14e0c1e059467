#include "systole/backends/cpu/jit/memory_hints.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/Local.h>

#include <charconv>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace systole::cpu {
namespace {

constexpr std::string_view kAhead = "systole.ahead.";
// Narrower stores may leave the write buffers before their line is complete.
constexpr uint64_t kMinVector = 32;    // bytes
constexpr int64_t kFirstLevel = 4096;  // bytes ahead that the first-level cache can keep

// Calls fn(name) for every scope of the access.
void for_each_scope(const llvm::Instruction& access,
                    const std::function<void(std::string_view)>& fn) {
  const auto* scopes = access.getMetadata(llvm::LLVMContext::MD_alias_scope);
  if (scopes == nullptr) return;
  for (const llvm::MDOperand& operand : scopes->operands()) {
    if (const auto* scope = llvm::dyn_cast<llvm::MDNode>(operand.get()))
      fn(llvm::AliasScopeNode(scope).getName());
  }
}

bool is_streamed(const llvm::StoreInst& store) {
  bool result = false;
  for_each_scope(store, [&](std::string_view name) { result |= name == kStreamedScope; });
  return result;
}

std::optional<int64_t> bytes_ahead(const llvm::LoadInst& load) {
  std::optional<int64_t> result;
  for_each_scope(load, [&](std::string_view name) {
    if (!name.starts_with(kAhead)) return;
    int64_t bytes = 0;
    std::from_chars(name.data() + kAhead.size(), name.data() + name.size(), bytes);
    result = bytes;
  });
  return result;
}

// A store past the caches of less than its alignment would fault.
void stream(llvm::StoreInst& store) {
  const llvm::DataLayout& layout = store.getModule()->getDataLayout();
  const uint64_t bytes = layout.getTypeStoreSize(store.getValueOperand()->getType());
  if (bytes < kMinVector || !llvm::isPowerOf2_64(bytes)) return;
  const llvm::Align known = std::max(
      store.getAlign(), llvm::getKnownAlignment(store.getPointerOperand(), layout, &store));
  if (known.value() < bytes) return;
  store.setAlignment(known);
  llvm::LLVMContext& c = store.getContext();
  auto* one = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(c), 1));
  store.setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(c, one));
}

void fetch(llvm::LoadInst& load, int64_t bytes) {
  llvm::IRBuilder<> b(&load);
  llvm::Value* pointer = b.CreateGEP(b.getInt8Ty(), load.getPointerOperand(),
                                     b.getInt64(static_cast<uint64_t>(bytes)));
  constexpr uint32_t kRead = 0;
  constexpr uint32_t kData = 1;
  const uint32_t locality = bytes <= kFirstLevel ? 3 : 2;
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                    {pointer, b.getInt32(kRead), b.getInt32(locality), b.getInt32(kData)});
}

}  // namespace

std::string ahead_scope(int64_t bytes) { return std::string(kAhead) + std::to_string(bytes); }

void apply_memory_hints(llvm::Module& module) {
  std::vector<std::pair<llvm::LoadInst*, int64_t>> loads;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& x : block) {
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&x)) {
          if (store->getValueOperand()->getType()->isVectorTy() && is_streamed(*store))
            stream(*store);
        } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&x)) {
          if (!load->getType()->isVectorTy()) continue;
          if (const auto bytes = bytes_ahead(*load)) loads.emplace_back(load, *bytes);
        }
      }
    }
  }
  for (const auto& [load, bytes] : loads) fetch(*load, bytes);
}

}  // namespace systole::cpu
