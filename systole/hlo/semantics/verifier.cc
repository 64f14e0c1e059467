#include "systole/hlo/semantics/verifier.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "systole/base/error.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/ir/signature.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo {
namespace {

using Users = std::unordered_map<const Instruction*, std::vector<const Instruction*>>;

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}

  void run() {
    for (const auto& function : module_.functions()) {
      check_place(*function, nullptr);
      check_computation(*function);
    }
    for (const auto& function : module_.functions()) check_users(*function);
    check_recursion();
    check_aliases();
  }

 private:
  void check_place(const Computation& computation, const Instruction* owner) {
    if (computation.owner() != owner || &computation.module() != &module_) {
      throw internal_error("{}: owner, got another, expected the one that holds it",
                           computation.name());
    }
  }

  // Values are visible from their definition to the end of the computation, also in regions.
  void check_computation(const Computation& computation) {
    const std::vector<Instruction*> program = computation.instructions();
    if (program.empty() || program.back() != computation.terminator()) {
      throw internal_error("{}: last instruction, got {}, expected one return", computation.name(),
                           program.empty() ? "none" : to_string(program.back()->opcode()));
    }
    check_parameters(computation, program);
    for (const Instruction* instruction : program) {
      try {
        check_instruction(computation, *instruction);
      } catch (const Error& error) {
        // The innermost instruction gives the place; the enclosing ones would repeat it.
        if (located_) throw;
        located_ = true;
        throw error.with_context(instruction->describe());
      }
      visible_.insert(instruction);
    }
    for (const Instruction* instruction : program) visible_.erase(instruction);
  }

  static void check_parameters(const Computation& computation,
                               std::span<Instruction* const> program) {
    int count = 0;
    for (const Instruction* instruction : program) {
      if (!instruction->is(Opcode::parameter)) continue;
      const auto* attrs = std::get_if<ParameterAttrs>(&instruction->attrs());
      const bool listed =
          count < computation.num_parameters() && computation.parameter(count).def == instruction;
      if (!listed || attrs == nullptr || attrs->index != count) {
        throw internal_error("{}: parameter {}, got one out of order, expected them numbered",
                             computation.name(), count);
      }
      ++count;
    }
    if (count != computation.num_parameters()) {
      throw internal_error("{}: number of parameter instructions, got {}, expected {}",
                           computation.name(), count, computation.num_parameters());
    }
  }

  void check_instruction(const Computation& computation, const Instruction& instruction) {
    const Opcode opcode = instruction.opcode();
    if (&instruction.parent() != &computation) {
      throw internal_error("{}: parent, got another computation, expected '{}'", opcode,
                           computation.name());
    }
    const bool is_last = &instruction == computation.terminator();
    if (instruction.traits().has(kTerminator) != is_last) {
      throw internal_error("{}: got one inside '{}', expected it at the end alone", opcode,
                           computation.name());
    }
    for (const Value& operand : instruction.operands()) check_operand(instruction, operand);
    for (const auto& region : instruction.regions()) {
      check_place(*region, &instruction);
      check_computation(*region);
    }
    check_callees(instruction);
    check_types_of(instruction);
  }

  void check_operand(const Instruction& user, const Value& operand) {
    if (operand.def == nullptr) {
      throw internal_error("{}: operand, got none, expected a value", user.opcode());
    }
    if (!visible_.contains(operand.def)) {
      throw internal_error("{}: operand, got a value of '{}' that is not defined before its use",
                           user.opcode(), operand.def->opcode());
    }
    if (operand.index < 0 || operand.index >= operand.def->num_results()) {
      throw internal_error("{}: operand, got result {} of '{}', expected below {}", user.opcode(),
                           operand.index, operand.def->opcode(), operand.def->num_results());
    }
    uses_[operand.def].push_back(&user);
  }

  void check_callees(const Instruction& instruction) {
    for (const std::string& callee : callees(instruction.attrs())) {
      if (module_.find_function(callee) != nullptr) continue;
      throw invalid_argument("{}: callee, got '{}', expected a function of the module",
                             instruction.opcode(), callee);
    }
  }

  void check_types_of(const Instruction& instruction) {
    const std::vector<TensorType> inferred = infer_types({.opcode = instruction.opcode(),
                                                          .operands = instruction.operands(),
                                                          .attrs = instruction.attrs(),
                                                          .regions = instruction.regions(),
                                                          .declared = instruction.results(),
                                                          .module = &module_});
    check_types(to_string(instruction.opcode()), "result types", instruction.results(), inferred);
    for (const TensorType& type : inferred) {
      if (!type.is_static()) {
        throw invalid_argument("{}: result type, got {}, expected a static shape",
                               instruction.opcode(), type);
      }
    }
  }

  void check_users(const Computation& computation) {
    for (const Instruction* def : computation.instructions()) {
      std::vector<const Instruction*> listed(def->users().begin(), def->users().end());
      std::vector<const Instruction*>& found = uses_[def];
      std::ranges::sort(listed);
      std::ranges::sort(found);
      if (listed != found) {
        throw internal_error("{}: list of users, got {}, expected the {} that use it, {}",
                             def->opcode(), listed.size(), found.size(), def->describe());
      }
      for (const auto& region : def->regions()) check_users(*region);
    }
  }

  // Recursion would never end.
  void check_recursion() const {
    if (const Computation* function = find_recursion(module_)) {
      throw invalid_argument("call: callee, got '{}' from within itself, expected no recursion",
                             function->name());
    }
  }

  void check_aliases() {
    std::set<int> parameters;
    std::set<int> results;
    for (const Module::Alias& alias : module_.aliases) {
      const Computation& main = module_.entry();
      const int num_results = static_cast<int>(main.results().size());
      if (alias.parameter < 0 || alias.parameter >= main.num_parameters() || alias.result < 0 ||
          alias.result >= num_results) {
        throw invalid_argument("alias: got parameter {} and result {}, expected below {} and {}",
                               alias.parameter, alias.result, main.num_parameters(), num_results);
      }
      const TensorType& from = main.parameter(alias.parameter).type();
      const TensorType& to = main.results()[alias.result].type();
      if (from != to) {
        throw invalid_argument(
            "alias: types of parameter {} and result {}, got {} and {}, "
            "expected equal",
            alias.parameter, alias.result, from, to);
      }
      if (!parameters.insert(alias.parameter).second || !results.insert(alias.result).second) {
        throw invalid_argument("alias: got parameter {} or result {} twice, expected once",
                               alias.parameter, alias.result);
      }
    }
  }

  const Module& module_;
  bool located_ = false;
  std::unordered_set<const Instruction*> visible_;
  Users uses_;
};

}  // namespace

void verify(const Module& module) { Verifier(module).run(); }

}  // namespace systole::hlo
