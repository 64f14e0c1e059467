#include "systole/backends/cpu/codegen/elements.h"

#include <algorithm>
#include <unordered_set>

#include "systole/base/error.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Value;

namespace {

// The values of a large region on which `wanted` depend, operands first. None of a small one, where
// the order in which the recursion meets them is as good.
std::vector<Value> needed_values(const hlo::Computation& region, std::span<const Value> wanted) {
  constexpr int kLarge = 256;
  if (region.num_instructions() <= kLarge) return {};
  std::unordered_set<const Instruction*> needed;
  for (const Value& value : wanted) needed.insert(value.def);
  std::vector<Instruction*> program = region.instructions();
  std::ranges::reverse(program);
  std::vector<Value> values;
  for (Instruction* x : program) {
    if (!needed.contains(x) || x->is(hlo::Opcode::parameter)) continue;
    for (const Value& operand : x->operands()) needed.insert(operand.def);
    values.push_back(x->result());
  }
  std::ranges::reverse(values);
  return values;
}

}  // namespace

void throw_cannot_lower(const Instruction& x) {
  std::string types;
  for (const TensorType& type : x.results())
    types += (types.empty() ? "" : ", ") + type.to_string();
  throw unimplemented("cpu cannot lower '{}' ({}), {}", x.opcode(), types, x.describe());
}

void Elements::bind(Var var, llvm::Value* value) {
  if (bound_.size() <= static_cast<size_t>(var))
    bound_.resize(static_cast<size_t>(var) + 1, nullptr);
  bound_[var] = value;
}

void Elements::restart() {
  known_.clear();
  kept_.clear();
}

llvm::Value* Elements::number(const Affine& x) {
  llvm::Value* sum = nullptr;
  for (const auto& [var, factor] : x.terms) {
    llvm::Value* value = bound_[var];
    if (value == nullptr) continue;
    llvm::Value* term = factor == 1 ? value : f.b.CreateMul(value, f.i64(factor), "", false, true);
    sum = sum == nullptr ? term : f.b.CreateAdd(sum, term, "", false, true);
  }
  if (sum == nullptr) return f.i64(x.constant);
  return x.constant == 0 ? sum : f.b.CreateAdd(sum, f.i64(x.constant), "", false, true);
}

void Elements::define_quotient(Var result, const Affine& x, int64_t divisor) {
  bind(result, f.b.CreateUDiv(number(x), f.i64(divisor)));
}

void Elements::define_remainder(Var result, const Affine& x, int64_t divisor) {
  bind(result, f.b.CreateURem(number(x), f.i64(divisor)));
}

llvm::Value* Elements::clamped(llvm::Value* x, bool is_signed, int64_t last) {
  // A large unsigned number is above every bound.
  if (is_signed) x = f.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, f.i64(0));
  return f.b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x,
                                   f.i64(last));
}

void Elements::define_element(Var result, Value value, const IndexRef& index, int64_t last) {
  const bool is_signed = dtype_info(value.dtype()).is_signed;
  llvm::Value* x = f.b.CreateIntCast(element(value, index), f.b.getInt64Ty(), is_signed);
  bind(result, clamped(x, is_signed, last));
}

void Elements::define_clamp(Var result, const Affine& x, int64_t last) {
  bind(result, clamped(number(x), true, last));
}

llvm::Value* Elements::element(Value value, const IndexRef& index) {
  if (const auto argument = arguments_.find(value); argument != arguments_.end())
    return argument->second;
  const std::tuple key{static_cast<const Instruction*>(value.def), value.index, index.get()};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  llvm::Value* result = compute(value, index);
  known_[key] = result;
  kept_.push_back(index);
  return result;
}

llvm::Value* Elements::compute(Value value, const IndexRef& index) {
  const Instruction& x = *value.def;
  const bool in_call = !arguments_.empty() && x.parent().owner() != nullptr &&
                       !has_programs(*x.parent().owner()) &&
                       !x.parent().owner()->is(hlo::Opcode::fusion);
  if (!in_call) {
    if (const auto leaf = thunk.leaf(value)) return f.load(*leaf, number(index->offset()));
  }
  if (x.is(hlo::Opcode::constant)) {
    const Tensor& tensor = x.attrs<hlo::ConstantAttrs>().value;
    if (tensor.num_elements() != 1) throw_cannot_lower(x);
    return f.constant(tensor, 0);
  }
  const ElementCode code = element_code(x);
  if (code == nullptr) throw_cannot_lower(x);
  std::vector<llvm::Value*> sources;
  for (const ElementSource& source : element_sources(*this, x, index)) {
    sources.push_back(element(source.value, source.index));
  }
  llvm::Value* result = code(*this, x, index, sources);
  if (result == nullptr) throw_cannot_lower(x);
  return result;
}

std::vector<llvm::Value*> Elements::call(const hlo::Computation& region,
                                         std::span<llvm::Value* const> arguments) {
  return call(region, arguments, region.results());
}

std::vector<llvm::Value*> Elements::call(const hlo::Computation& region,
                                         std::span<llvm::Value* const> arguments,
                                         std::span<const hlo::Value> wanted) {
  // The computation's values belong to this call alone.
  const auto outer_arguments = arguments_;
  const auto outer_known = known_;
  for (int i = 0; i < region.num_parameters(); ++i) {
    arguments_[region.parameter(i)] = arguments[i];
  }
  // Operands first: emission recurses from a value to its operands, as deep as those are not known.
  for (const Value& value : needed_values(region, wanted)) element(value, scalar_index());
  std::vector<llvm::Value*> results;
  for (const Value& value : wanted) results.push_back(element(value, scalar_index()));
  arguments_ = outer_arguments;
  known_ = outer_known;
  return results;
}

}  // namespace systole::cpu
