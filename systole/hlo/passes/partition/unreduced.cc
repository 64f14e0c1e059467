// Sums that are not added up: values of which each device has a term.
#include <algorithm>
#include <functional>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/passes/partition/placement.h"

namespace systole::hlo::spmd {
namespace {

// Types whose sums of terms are the sums of the values: logical ones have none.
bool has_terms(const TensorType& type) {
  return is_numeric(type.dtype) && type.dtype != DType::pred && !is_small_float(type.dtype) &&
         !type.is_quantized();
}

bool adds(const Instruction& x) {
  return x.regions().size() == 1 && match_reducer(x.region()) == Opcode::add;
}

std::vector<bool> these(const Instruction& x, std::initializer_list<int> operands) {
  std::vector<bool> result(static_cast<size_t>(x.num_operands()), false);
  for (const int i : operands) result[i] = true;
  return result;
}

std::vector<bool> one_factor(const Instruction& x, const std::function<bool(int)>& is_term) {
  if (is_term(0) == is_term(1)) return {};
  return these(x, {is_term(0) ? 0 : 1});
}

}  // namespace

std::vector<bool> linear_operands(const Instruction& x, const std::function<bool(int)>& is_term) {
  if (x.num_results() != 1 || !has_terms(x.type())) return {};
  switch (x.opcode()) {
    case Opcode::add:
    case Opcode::subtract:
    case Opcode::negate:
    case Opcode::complex:
    case Opcode::real:
    case Opcode::imag:
    case Opcode::concatenate:
    case Opcode::reshape:
    case Opcode::transpose:
    case Opcode::broadcast_in_dim:
    case Opcode::slice:
    case Opcode::reverse:
    case Opcode::pad:
      return std::vector<bool>(static_cast<size_t>(x.num_operands()), true);
    case Opcode::convert: {
      // Rounding to integers is not linear, and integers may wrap.
      const bool real = is_floating(x.dtype()) && is_floating(x.operand(0).dtype()) &&
                        has_terms(x.operand(0).type());
      return real ? these(x, {0}) : std::vector<bool>();
    }
    case Opcode::dynamic_slice:
    case Opcode::gather:
      return these(x, {0});
    case Opcode::dynamic_update_slice:
      return these(x, {0, 1});
    case Opcode::select:
      return these(x, {1, 2});
    case Opcode::reduce:
    case Opcode::reduce_window:
      return x.num_operands() == 2 && adds(x) ? these(x, {0, 1}) : std::vector<bool>();
    case Opcode::scatter:
      return x.num_operands() == 3 && adds(x) ? these(x, {0, 2}) : std::vector<bool>();
    case Opcode::multiply:
    case Opcode::dot_general:
    case Opcode::convolution:
      return one_factor(x, is_term);
    default:
      return {};
  }
}

std::vector<bool> Placements::terms_of(const Instruction& x) const {
  return linear_operands(x, [&](int i) { return !at(x.operand(i)).layout.unreduced.empty(); });
}

void Placements::spread_unreduced() {
  for (const Instruction* x : order_) {
    if (!x->is(Opcode::while_) && !x->is(Opcode::optimization_barrier)) continue;
    for (int i = 0; i < x->num_results(); ++i) {
      const Atoms& atoms = at(x->operand(i)).layout.unreduced;
      if (!atoms.empty()) set_unreduced(at({const_cast<Instruction*>(x), i}), atoms);
    }
  }
  for (auto at_end = order_.rbegin(); at_end != order_.rend(); ++at_end) {
    const Instruction& x = **at_end;
    if (x.num_results() != 1 || !has_terms(x.results()[0])) continue;
    const Value value{const_cast<Instruction*>(&x), 0};
    if (!at(value).layout.unreduced.empty() || !program_.shardings_of(x).empty()) continue;
    const bool can = rules_.at(&x).combiner == Opcode::add || !terms_of(x).empty();
    if (can) set_unreduced(at(value), wanted_terms(value));
  }
}

std::optional<Atoms> Placements::wanted_terms(const Instruction& user, int k) const {
  const auto of_result = [&](const Instruction& x, int i) {
    return at({const_cast<Instruction*>(&x), i}).layout.unreduced;
  };
  if (target_of(user) == kConstraint) {
    Atoms atoms = of_result(user, k);
    return atoms.empty() ? std::nullopt : std::optional(std::move(atoms));
  }
  if (target_of(user) == kToLocal) {
    return united(of_result(user, k), manual_.at(&user)[k].unreduced);
  }
  if (&user == program_.main().terminator()) return of_result(user, k);
  const bool carries = user.is(Opcode::while_) || user.is(Opcode::optimization_barrier);
  if (carries) return of_result(user, k);
  if (user.is(Opcode::return_)) {
    const Instruction* const owner = user.parent().owner();
    const bool is_body =
        owner != nullptr && (!owner->is(Opcode::while_) || &owner->region(1) == &user.parent());
    const bool returns =
        is_body && k < owner->num_results() &&
        (owner->is(Opcode::while_) || owner->is(Opcode::case_) || owner->is(Opcode::if_));
    return returns ? of_result(*owner, k) : Atoms();
  }
  const std::vector<bool> linear = terms_of(user);
  return !linear.empty() && linear[k] ? of_result(user, 0) : Atoms();
}

// All uses that do not take either want the same.
Atoms Placements::wanted_terms(Value value) const {
  std::optional<Atoms> wanted;
  for (const Instruction* user : value.def->users()) {
    for (int k = 0; k < user->num_operands(); ++k) {
      if (user->operand(k) != value) continue;
      const std::optional<Atoms> atoms = wanted_terms(*user, k);
      if (!atoms) continue;
      if (wanted && *wanted != *atoms) return {};
      wanted = atoms;
    }
  }
  return wanted.value_or(Atoms());
}

}  // namespace systole::hlo::spmd
