#include "systole/hlo/passes/partition/program.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/budget.h"
#include "systole/hlo/ir/callees.h"

namespace systole::hlo::spmd {
namespace {

constexpr const char* kSdySharding = "sdy.sharding";
constexpr const char* kGspmdSharding = "mhlo.sharding";
constexpr const char* kManualAxes = "sdy.manual_axes";

bool is_call(const Instruction& x) { return x.is(Opcode::call) || x.is(Opcode::composite); }

void add_calls_in(Instruction& x, std::vector<Instruction*>& calls) {
  if (is_call(x)) calls.push_back(&x);
  for (const auto& region : x.regions()) {
    for (Instruction* nested : region->instructions()) add_calls_in(*nested, calls);
  }
}

std::vector<int> ranks_of(std::span<const TensorType> types) {
  std::vector<int> ranks;
  for (const TensorType& type : types) ranks.push_back(type.shape.rank());
  return ranks;
}

std::vector<int> ranks_of(std::span<const Value> values) {
  std::vector<int> ranks;
  for (const Value& value : values) ranks.push_back(value.shape().rank());
  return ranks;
}

std::optional<Sharding> sharding_in(const AttributeTexts& texts, const Meshes& meshes, int rank) {
  for (const char* name : {kSdySharding, kGspmdSharding}) {
    const auto found = texts.find(name);
    if (found != texts.end()) return parse_sharding(found->second, meshes, rank);
  }
  return std::nullopt;
}

}  // namespace

std::string_view attribute_text(const Instruction& x, std::string_view name) {
  for (const NamedAttrText& other : x.attrs<CustomCallAttrs>().others) {
    if (other.name == name) return other.attribute.text;
  }
  return {};
}

std::string_view target_of(const Instruction& x) {
  const auto* attrs = std::get_if<CustomCallAttrs>(&x.attrs());
  return attrs == nullptr ? std::string_view() : attrs->call_target_name;
}

Program::Program(const Module& module) : module_(module.clone()), meshes_(meshes_of(module)) {
  const BudgetScope budget(*module_, "partition");
  inline_calls();
  read_shardings(main());
  read_signature();
}

// From the outside in, as InlineCalls does.
void Program::inline_calls() {
  if (const Computation* function = find_recursion(*module_)) {
    throw invalid_argument("partition: calls, got '{}' from within itself, expected no recursion",
                           function->name());
  }
  std::vector<Instruction*> open;
  for (Instruction* x : main().instructions()) add_calls_in(*x, open);
  while (!open.empty()) {
    Instruction& call = *open.back();
    open.pop_back();
    const std::string name = callees(call.attrs())[0];
    const Computation* const callee = module_->find_function(name);
    if (callee == nullptr) {
      throw invalid_argument("{}: callee, got '{}', expected a function of the module",
                             call.opcode(), name);
    }
    const Scope* const scope = scope_of_body(call, *callee);
    ValueMap map;
    for (int i = 0; i < callee->num_parameters(); ++i) map[callee->parameter(i)] = call.operand(i);
    for (const Instruction* x : callee->instructions()) {
      if (x->is(Opcode::parameter) || x == callee->terminator()) continue;
      Instruction* const copy = copy_instruction(*x, map, call.parent(), &call);
      if (scope != nullptr) scope_of_[copy] = scope;
      add_calls_in(*copy, open);
    }
    std::vector<Value> results;
    for (const Value& result : callee->results()) {
      const auto found = map.find(result);
      results.push_back(found == map.end() ? result : found->second);
    }
    scope_of_.erase(&call);
    replace_and_erase(call, results);
  }
}

// The body of a manual computation names its axes. Its mesh is that of the shardings around the
// call.
const Scope* Program::scope_of_body(const Instruction& call, const Computation& body) {
  const Scope* const outer = scope_of(call);
  const auto& texts = body.attributes().function;
  const auto found = texts.find(kManualAxes);
  if (found == texts.end()) return outer;
  Scope& scope = scopes_.emplace_back();
  scope.outer = outer;
  scope.axes = parse_manual_axes(found->second);
  const auto take_mesh = [&](const Instruction& x, std::string_view target, std::string_view name,
                             const std::vector<int>& ranks) {
    if (target_of(x) != target || !scope.mesh.axes.empty()) return;
    for (const Sharding& sharding : parse_shardings(attribute_text(x, name), meshes_, ranks)) {
      if (!sharding.mesh.axes.empty()) scope.mesh = sharding.mesh;
    }
  };
  for (const Value& operand : call.operands()) {
    take_mesh(*operand.def, kToLocal, "sdy.in_shardings", ranks_of(operand.def->operands()));
  }
  for (const Instruction* user : call.users()) {
    take_mesh(*user, kToGlobal, "sdy.out_shardings", ranks_of(user->results()));
  }
  if (scope.mesh.axes.empty()) {
    for (const auto& [name, mesh] : meshes_) {
      const bool has_all = std::ranges::all_of(
          scope.axes, [&](const std::string& axis) { return mesh.find(axis) != nullptr; });
      if (has_all) scope.mesh = mesh;
    }
  }
  for (const std::string& axis : scope.axes) {
    if (scope.mesh.find(axis) != nullptr) continue;
    throw invalid_argument("sdy.manual_axes: axis, got \"{}\", expected one of the mesh {}", axis,
                           scope.mesh.to_string());
  }
  return &scope;
}

const Scope* Program::scope_of(const Instruction& x) const {
  for (const Instruction* at = &x; at != nullptr; at = at->parent().owner()) {
    const auto found = scope_of_.find(at);
    if (found != scope_of_.end()) return found->second;
  }
  return nullptr;
}

const std::vector<Sharding>& Program::shardings_of(const Instruction& x) const {
  static const std::vector<Sharding> kNone;
  const auto found = shardings_.find(&x);
  return found == shardings_.end() ? kNone : found->second;
}

std::vector<std::string> Program::manual_axes_of(const Instruction& x) const {
  return parse_manual_axes(attribute_text(x, kManualAxes));
}

void Program::read_shardings(const Computation& computation) {
  for (const Instruction* x : computation.instructions()) {
    for (const auto& region : x->regions()) read_shardings(*region);
    const std::string_view target = target_of(*x);
    if (target == kToLocal) {
      shardings_[x] =
          parse_shardings(attribute_text(*x, "sdy.in_shardings"), meshes_, ranks_of(x->operands()));
    } else if (target == kToGlobal) {
      shardings_[x] =
          parse_shardings(attribute_text(*x, "sdy.out_shardings"), meshes_, ranks_of(x->results()));
    } else if (target == kConstraint && x->num_results() == 1) {
      for (const char* name : {kSdySharding, kGspmdSharding}) {
        const std::string_view text = attribute_text(*x, name);
        if (text.empty() || !shardings_[x].empty()) continue;
        shardings_[x] = {parse_sharding(text, meshes_, x->shape().rank())};
      }
    }
  }
}

void Program::read_signature() {
  const FunctionAttributes& attributes = main().attributes();
  const auto read = [&](const std::map<int, AttributeTexts>& texts, int i, int rank) {
    const auto found = texts.find(i);
    return found == texts.end() ? std::nullopt : sharding_in(found->second, meshes_, rank);
  };
  for (int i = 0; i < main().num_parameters(); ++i) {
    parameters_.push_back(read(attributes.parameters, i, main().parameter(i).shape().rank()));
  }
  for (size_t i = 0; i < main().results().size(); ++i) {
    const int rank = main().results()[i].shape().rank();
    results_.push_back(read(attributes.results, static_cast<int>(i), rank));
  }
}

std::vector<Sharding> Program::all_shardings() const {
  std::vector<Sharding> all;
  for (const auto* list : {&parameters_, &results_}) {
    for (const std::optional<Sharding>& sharding : *list) {
      if (sharding) all.push_back(*sharding);
    }
  }
  const auto add = [&](const auto& self, const Computation& computation) -> void {
    for (const Instruction* x : computation.instructions()) {
      const std::vector<Sharding>& own = shardings_of(*x);
      all.insert(all.end(), own.begin(), own.end());
      for (const auto& region : x->regions()) self(self, *region);
    }
  };
  add(add, main());
  for (const Scope& scope : scopes_) all.push_back({.mesh = scope.mesh});
  return all;
}

}  // namespace systole::hlo::spmd
