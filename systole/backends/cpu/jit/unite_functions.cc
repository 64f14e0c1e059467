#include "systole/backends/cpu/jit/unite_functions.h"

#include <llvm/ADT/Hashing.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace systole::cpu {
namespace {

using InstructionList = std::vector<const llvm::Instruction*>;

constexpr unsigned kMinInstructions = 20;  // fewer are made as fast as a call of them
constexpr size_t kMaxNumbers = 32;         // parameters that a function gets

// An operand that is a number: of which instruction, and which of its operands.
using NumberPlace = std::pair<size_t, unsigned>;

InstructionList instructions_of(const llvm::Function& function) {
  InstructionList code;
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& x : block) code.push_back(&x);
  }
  return code;
}

// Whether the operand may be a parameter at no cost to the code.
bool may_vary(const llvm::Instruction& x, unsigned k, const llvm::LoopInfo& loops) {
  const llvm::Type* const type = x.getOperand(k)->getType();
  if (type->isIntegerTy(1) || (!type->isIntegerTy() && !type->isFloatingPointTy())) return false;
  switch (x.getOpcode()) {
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
      return k == 0 || loops.getLoopFor(x.getParent()) == nullptr;
    case llvm::Instruction::Switch:
    case llvm::Instruction::ExtractElement:
    case llvm::Instruction::InsertElement:
    case llvm::Instruction::Alloca:
      return false;
    case llvm::Instruction::GetElementPtr:
      return !llvm::cast<llvm::GetElementPtrInst>(x).getSourceElementType()->isStructTy();
    case llvm::Instruction::Call: {
      const auto& call = llvm::cast<llvm::CallBase>(x);
      return k < call.arg_size() && !call.paramHasAttr(k, llvm::Attribute::ImmArg);
    }
    default:
      return true;
  }
}

bool is_number(const llvm::Value* x) {
  return llvm::isa<llvm::ConstantInt>(x) || llvm::isa<llvm::ConstantFP>(x);
}

// Arrays on the stack may differ in their length: the longest is enough for all.
bool same_memory(const llvm::AllocaInst& a, const llvm::AllocaInst& b) {
  const auto* const x = llvm::dyn_cast<llvm::ArrayType>(a.getAllocatedType());
  const auto* const y = llvm::dyn_cast<llvm::ArrayType>(b.getAllocatedType());
  const bool arrays = x != nullptr && y != nullptr && x->getElementType() == y->getElementType();
  return (arrays || a.getAllocatedType() == b.getAllocatedType()) && a.getAlign() == b.getAlign() &&
         a.getArraySize() == b.getArraySize();
}

// Compares two functions instruction by instruction.
class Comparison {
 public:
  // `loops`: those of `a`.
  Comparison(const llvm::Function& a, const llvm::Function& b, const llvm::LoopInfo& loops)
      : a_(a), b_(b), loops_(loops) {}

  // Whether they differ in numbers that may vary alone; appends the places of these.
  bool same(std::vector<NumberPlace>& varying) {
    for (auto [x, y] : llvm::zip(a_.args(), b_.args())) counterpart_[&x] = &y;
    for (auto [x, y] : llvm::zip(a_, b_)) counterpart_[&x] = &y;
    const InstructionList as = instructions_of(a_);
    const InstructionList bs = instructions_of(b_);
    if (a_.size() != b_.size() || as.size() != bs.size()) return false;
    for (size_t i = 0; i < as.size(); ++i) counterpart_[as[i]] = bs[i];
    for (size_t i = 0; i < as.size(); ++i) {
      if (!same_operation(*as[i], *bs[i]) || !same_metadata(*as[i], *bs[i])) return false;
      for (unsigned k = 0; k < as[i]->getNumOperands(); ++k) {
        if (same_value(as[i]->getOperand(k), bs[i]->getOperand(k))) continue;
        if (!is_number(as[i]->getOperand(k)) || !is_number(bs[i]->getOperand(k)) ||
            !may_vary(*as[i], k, loops_))
          return false;
        varying.emplace_back(i, k);
      }
    }
    return true;
  }

 private:
  bool same_value(const llvm::Value* x, const llvm::Value* y) const {
    const auto found = counterpart_.find(x);
    return found != counterpart_.end() ? found->second == y
                                       : x == y && llvm::isa<llvm::Constant>(x);
  }

  bool same_operation(const llvm::Instruction& x, const llvm::Instruction& y) const {
    if (x.getOpcode() != y.getOpcode() || x.getNumOperands() != y.getNumOperands() ||
        !x.hasSameSubclassOptionalData(&y) || counterpart_.at(x.getParent()) != y.getParent())
      return false;
    for (unsigned k = 0; k < x.getNumOperands(); ++k) {
      if (x.getOperand(k)->getType() != y.getOperand(k)->getType()) return false;
    }
    if (const auto* const memory = llvm::dyn_cast<llvm::AllocaInst>(&x))
      return same_memory(*memory, llvm::cast<llvm::AllocaInst>(y));
    if (!x.isSameOperationAs(&y)) return false;
    const auto* const phi = llvm::dyn_cast<llvm::PHINode>(&x);
    if (phi == nullptr) return true;
    const auto& other = llvm::cast<llvm::PHINode>(y);
    for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
      if (counterpart_.at(phi->getIncomingBlock(k)) != other.getIncomingBlock(k)) return false;
    }
    return true;
  }

  // Alias scopes are each function's own: they must stand for one another, under the same names,
  // which hold hints.
  bool same_metadata(const llvm::Instruction& x, const llvm::Instruction& y) {
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>> of_x;
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>> of_y;
    x.getAllMetadata(of_x);
    y.getAllMetadata(of_y);
    if (of_x.size() != of_y.size()) return false;
    for (auto [a, b] : llvm::zip(of_x, of_y)) {
      if (a.first != b.first) return false;
      if (a.second == b.second) continue;
      if ((a.first != llvm::LLVMContext::MD_alias_scope &&
           a.first != llvm::LLVMContext::MD_noalias) ||
          !same_scopes(*a.second, *b.second))
        return false;
    }
    return true;
  }

  bool same_scopes(const llvm::MDNode& a, const llvm::MDNode& b) {
    if (a.getNumOperands() != b.getNumOperands()) return false;
    for (unsigned k = 0; k < a.getNumOperands(); ++k) {
      const auto* const x = llvm::dyn_cast<llvm::MDNode>(a.getOperand(k));
      const auto* const y = llvm::dyn_cast<llvm::MDNode>(b.getOperand(k));
      if (x == nullptr || y == nullptr ||
          llvm::AliasScopeNode(x).getName() != llvm::AliasScopeNode(y).getName() ||
          scopes_.try_emplace(x, y).first->second != y ||
          scopes_back_.try_emplace(y, x).first->second != x)
        return false;
    }
    return true;
  }

  const llvm::Function& a_;
  const llvm::Function& b_;
  const llvm::LoopInfo& loops_;
  std::unordered_map<const llvm::Value*, const llvm::Value*> counterpart_;
  std::unordered_map<const llvm::MDNode*, const llvm::MDNode*> scopes_, scopes_back_;
};

// A hash that functions that are alike have in common.
size_t form_hash(const llvm::Function& function) {
  llvm::hash_code hash = llvm::hash_combine(function.getFunctionType(), function.size());
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& x : block)
      hash = llvm::hash_combine(hash, x.getOpcode(), x.getType());
  }
  return hash;
}

llvm::AttributeList without_ranges(const llvm::Function& function) {
  llvm::AttributeList attributes = function.getAttributes();
  for (unsigned i = 0; i < function.arg_size(); ++i) {
    attributes = attributes.removeParamAttribute(function.getContext(), i, llvm::Attribute::Range);
  }
  return attributes;
}

// Functions that differ in the numbers at `varying` alone.
class FunctionForm {
 public:
  FunctionForm(std::vector<llvm::Function*> functions, std::vector<NumberPlace> varying)
      : functions_(std::move(functions)), varying_(std::move(varying)) {
    std::ranges::sort(varying_);
    varying_.erase(std::ranges::unique(varying_).begin(), varying_.end());
    for (const llvm::Function* f : functions_) code_.push_back(instructions_of(*f));
    // Places that have the same numbers in every function are one parameter.
    std::map<std::vector<llvm::Constant*>, unsigned> known;
    for (const auto& [i, k] : varying_) {
      std::vector<llvm::Constant*> numbers;
      for (const InstructionList& code : code_)
        numbers.push_back(llvm::cast<llvm::Constant>(code[i]->getOperand(k)));
      const auto [at, is_new] = known.try_emplace(numbers, known.size());
      parameter_.push_back(at->second);
      if (is_new) numbers_.push_back(std::move(numbers));
    }
  }

  void unite() {
    if (numbers_.size() > kMaxNumbers) return;
    llvm::Function& united = declare();
    set_ranges(united);
    take_body(united);
    for (size_t n = 0; n < functions_.size(); ++n) call(united, n);
  }

 private:
  llvm::Function& first() const { return *functions_[0]; }

  llvm::Function& declare() const {
    std::vector<llvm::Type*> types(first().getFunctionType()->param_begin(),
                                   first().getFunctionType()->param_end());
    for (const auto& numbers : numbers_) types.push_back(numbers[0]->getType());
    auto* const type = llvm::FunctionType::get(first().getReturnType(), types, false);
    llvm::Function* const united = llvm::Function::Create(
        type, first().getLinkage(), first().getName() + ".form", first().getParent());
    united->setAttributes(without_ranges(first()));
    united->setDSOLocal(first().isDSOLocal());
    united->addFnAttr(llvm::Attribute::NoInline);
    return *united;
  }

  // What is known of the parameters of all functions.
  void set_ranges(llvm::Function& united) const {
    const auto set = [&](unsigned i, const std::optional<llvm::ConstantRange>& range) {
      if (!range || range->isFullSet()) return;
      united.addParamAttr(
          i, llvm::Attribute::get(united.getContext(), llvm::Attribute::Range, *range));
    };
    for (unsigned i = 0; i < first().arg_size(); ++i) {
      std::optional<llvm::ConstantRange> range;
      for (const llvm::Function* f : functions_) {
        const llvm::Attribute own = f->getAttributes().getParamAttr(i, llvm::Attribute::Range);
        if (!own.isValid()) {
          range.reset();
          break;
        }
        range = range ? range->unionWith(own.getRange()) : own.getRange();
      }
      set(i, range);
    }
    for (size_t n = 0; n < numbers_.size(); ++n) {
      std::optional<llvm::ConstantRange> range;
      for (const llvm::Constant* number : numbers_[n]) {
        const auto* const integer = llvm::dyn_cast<llvm::ConstantInt>(number);
        if (integer == nullptr) break;
        const llvm::ConstantRange own(integer->getValue());
        range = range ? range->unionWith(own) : own;
      }
      set(first().arg_size() + static_cast<unsigned>(n), range);
    }
  }

  void take_body(llvm::Function& united) const {
    united.splice(united.begin(), &first());
    for (unsigned i = 0; i < first().arg_size(); ++i)
      first().getArg(i)->replaceAllUsesWith(united.getArg(i));
    std::vector<llvm::Instruction*> body;
    for (llvm::BasicBlock& block : united) {
      for (llvm::Instruction& x : block) body.push_back(&x);
    }
    for (size_t p = 0; p < varying_.size(); ++p) {
      const auto& [i, k] = varying_[p];
      body[i]->setOperand(k,
                          united.getArg(static_cast<unsigned>(first().arg_size()) + parameter_[p]));
    }
    for (size_t i = 0; i < body.size(); ++i) {
      auto* const memory = llvm::dyn_cast<llvm::AllocaInst>(body[i]);
      if (memory == nullptr || !memory->getAllocatedType()->isArrayTy()) continue;
      for (const InstructionList& code : code_) {
        llvm::Type* const own = llvm::cast<llvm::AllocaInst>(code[i])->getAllocatedType();
        if (own->getArrayNumElements() > memory->getAllocatedType()->getArrayNumElements())
          memory->setAllocatedType(own);
      }
    }
  }

  // Function n becomes a call with its numbers.
  void call(llvm::Function& united, size_t n) const {
    llvm::Function& f = *functions_[n];
    const auto linkage = f.getLinkage();
    f.deleteBody();
    f.setLinkage(linkage);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(f.getContext(), "", &f));
    std::vector<llvm::Value*> arguments;
    for (llvm::Argument& argument : f.args()) arguments.push_back(&argument);
    for (const auto& numbers : numbers_) arguments.push_back(numbers[n]);
    b.CreateCall(&united, arguments)->setTailCall();
    b.CreateRetVoid();
  }

  std::vector<llvm::Function*> functions_;
  std::vector<NumberPlace> varying_;
  std::vector<InstructionList> code_;                  // of each function
  std::vector<unsigned> parameter_;                    // at each place
  std::vector<std::vector<llvm::Constant*>> numbers_;  // by parameter: of each function
};

// Unites those that are like the first. Returns the others.
std::vector<llvm::Function*> unite_with_first(const std::vector<llvm::Function*>& functions) {
  llvm::Function& first = *functions[0];
  const llvm::DominatorTree tree(first);
  const llvm::LoopInfo loops(tree);
  std::vector<llvm::Function*> alike = {&first};
  std::vector<llvm::Function*> others;
  std::vector<NumberPlace> varying;
  for (size_t i = 1; i < functions.size(); ++i) {
    llvm::Function& f = *functions[i];
    std::vector<NumberPlace> places;
    if (without_ranges(f) == without_ranges(first) && Comparison(first, f, loops).same(places)) {
      alike.push_back(&f);
      varying.insert(varying.end(), places.begin(), places.end());
    } else {
      others.push_back(&f);
    }
  }
  if (alike.size() > 1) FunctionForm(std::move(alike), std::move(varying)).unite();
  return others;
}

}  // namespace

void unite_functions(llvm::Module& module) {
  std::unordered_map<size_t, size_t> numbers;
  std::vector<std::vector<llvm::Function*>> groups;  // by hash, in the order of the module
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || f.hasOptNone() || f.getName() == "main" ||
        !f.getReturnType()->isVoidTy() || f.getInstructionCount() < kMinInstructions)
      continue;
    const size_t number = numbers.try_emplace(form_hash(f), groups.size()).first->second;
    if (number == groups.size()) groups.emplace_back();
    groups[number].push_back(&f);
  }
  for (std::vector<llvm::Function*>& group : groups) {
    while (group.size() > 1) group = unite_with_first(group);
  }
}

}  // namespace systole::cpu
