#include "apps/systole/hlo/checks.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "apps/systole/hlo/arguments.h"
#include "apps/systole/hlo/programs.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/signature.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/process.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/run_replicas.h"

namespace systole::app {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr std::string_view kPrefix = "check.";

constexpr std::string_view kRunParallel = "interpreter.run_parallel";

bool is_run_parallel(const Instruction& x) {
  return x.is(Opcode::custom_call) &&
         x.attrs<hlo::CustomCallAttrs>().call_target_name == kRunParallel;
}

bool any_of(const Computation& computation, bool (*wanted)(const Instruction&)) {
  return std::ranges::any_of(computation.instructions(), [&](const Instruction* x) {
    return wanted(*x) ||
           std::ranges::any_of(x->regions(), [&](const auto& r) { return any_of(*r, wanted); });
  });
}

bool any_check(const Computation& computation) { return any_of(computation, is_check); }

// Returns the number at the start of an attribute's text, such as "3 : i64"; nullopt if there is no
// such attribute.
template <class T>
std::optional<T> number_attribute(const hlo::CustomCallAttrs& attrs, std::string_view name) {
  for (const hlo::NamedAttrText& attribute : attrs.others) {
    if (attribute.name != name) continue;
    const std::string& text = attribute.attribute.text;
    T number{};
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc())
      return number;
    throw invalid_argument("{}: attribute '{}', got '{}', expected a number",
                           attrs.call_target_name, name, text);
  }
  return std::nullopt;
}

// The defaults are those of StableHLO's interpreter.
CheckRule rule_of(const Instruction& x) {
  using Kind = CheckRule::Kind;
  const auto& attrs = x.attrs<hlo::CustomCallAttrs>();
  std::string_view name = attrs.call_target_name;
  name.remove_prefix(kPrefix.size());
  if (name == "expect_eq" || name == "expect_eq_const") return {.kind = Kind::eq};
  const auto almost = [&](double usual) -> CheckRule {
    return {.kind = Kind::almost_eq,
            .tolerance = number_attribute<double>(attrs, "tolerance").value_or(usual)};
  };
  if (name == "expect_almost_eq") return almost(0.001);
  if (name == "expect_almost_eq_const") return almost(0.0001);
  if (name == "expect_close") {
    return {.kind = Kind::close,
            .min_ulps = number_attribute<uint64_t>(attrs, "min_ulp_difference").value_or(0),
            .max_ulps = number_attribute<uint64_t>(attrs, "max_ulp_difference").value_or(3)};
  }
  if (name == "eq") {
    const DType dtype = x.operand(0).dtype();
    if (!is_floating(dtype) && !is_complex(dtype)) return {.kind = Kind::eq};
    return {.kind = Kind::almost_eq, .tolerance = 1e-4};
  }
  throw unimplemented("{}: no such check here", attrs.call_target_name);
}

// Replaces an instruction's results by parameters of main.
void lift(Instruction& x, std::span<const Tensor> values, CheckedProgram& program) {
  Computation& main = x.parent();
  for (int i = 0; i < x.num_results(); ++i) {
    const Tensor& value = values[i];
    // The type may be quantized, which the value does not tell.
    Computation::replace_all_uses(x.result(i),
                                  main.add_parameter(x.result(i).type(), x.metadata()));
    program.arguments.push_back(value);
  }
  main.erase(&x);
}

// Returns the called function if it computes inputs or expectations, else nullptr.
const Computation* input_function(const Instruction& x, const hlo::Module& module) {
  if (!x.is(Opcode::call) || x.num_operands() > 0) return nullptr;
  const Computation* callee = module.find_function(x.attrs<hlo::CallAttrs>().callee);
  return callee == nullptr || any_check(*callee) ? nullptr : callee;
}

void check_input_memory(const CheckedProgram& program) {
  runtime::ExecutableStats stats;
  for (const Instruction* x : program.module->entry().instructions()) {
    if (input_function(*x, *program.module) == nullptr) continue;
    for (const TensorType& type : x->results()) add_bytes(stats.argument_bytes, type);
  }
  runtime::check_memory("host", *program.module, stats, runtime::host_memory_bytes());
}

void lift_inputs(CheckedProgram& program) {
  check_input_memory(program);
  Computation& main = program.module->entry();
  bool lifted = false;
  for (Instruction* x : main.instructions()) {
    const Computation* callee = input_function(*x, *program.module);
    if (callee == nullptr) continue;
    lift(*x, hlo::Evaluator().run(*callee, {}), program);
    lifted = true;
  }
  if (lifted) return;
  for (Instruction* x : main.instructions()) {
    if (x->is(Opcode::constant)) lift(*x, {{x->attrs<hlo::ConstantAttrs>().value}}, program);
  }
}

// Returns the functions of "[[@f, @f], [@f, @f]]", one row per replica, and their grid.
struct ParallelPrograms {
  hlo::ProcessGrid grid{.num_replicas = 0};
  std::vector<std::string> functions;
};

ParallelPrograms parallel_programs(const Instruction& call) {
  std::string_view text;
  for (const auto& attribute : call.attrs<hlo::CustomCallAttrs>().others) {
    if (attribute.name == "programs") text = attribute.attribute.text;
  }
  ParallelPrograms programs;
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '[') ++programs.grid.num_replicas;
    if (text[at] != '@') continue;
    const size_t end = std::min(text.find_first_of(",] ", at), text.size());
    programs.functions.emplace_back(text.substr(at + 1, end - at - 1));
  }
  const auto count = static_cast<int64_t>(programs.functions.size());
  if (programs.grid.num_replicas == 0 || count == 0 || count % programs.grid.num_replicas != 0)
    throw invalid_argument("{}: programs, got '{}', expected rows of functions", kRunParallel,
                           text);
  programs.grid.num_partitions = count / programs.grid.num_replicas;
  return programs;
}

// Runs the function as this many replicas. Returns their results, one replica after the other.
std::vector<Tensor> run_replicas(const hlo::Module& module, const std::string& function,
                                 std::span<const std::vector<Tensor>> arguments,
                                 runtime::Client& client, const runtime::CompileOptions& options) {
  const auto alone = module.clone();
  alone->erase_functions({&alone->entry()});
  const Computation* const called[] = {alone->find_function(function)};
  add_main(*alone, called);
  std::vector<Tensor> results;
  for (std::vector<Tensor>& of_replica :
       runtime::run_replicas(client, *alone, arguments, options)) {
    std::ranges::move(of_replica, std::back_inserter(results));
  }
  return results;
}

// The operands are the function's parameters and the results are the function's results, repeated
// for each process.
void check_fits(const Instruction& call, const Computation& function, size_t processes) {
  const auto repeated = [&](const std::vector<TensorType>& types) {
    std::vector<TensorType> all;
    for (size_t i = 0; i < processes; ++i) all.insert(all.end(), types.begin(), types.end());
    return all;
  };
  hlo::check_types(kRunParallel, "operand types", hlo::types_of(call.operands()),
                   repeated(hlo::parameter_types(function)));
  hlo::check_types(kRunParallel, "result types", call.results(),
                   repeated(hlo::result_types(function)));
}

std::vector<Tensor> run_parallel(const Instruction& call, const CheckedProgram& program,
                                 runtime::Client& client, const runtime::CompileOptions& options) {
  const ParallelPrograms programs = parallel_programs(call);
  const auto other = [&](const std::string& name) { return name != programs.functions[0]; };
  const Computation* function = program.module->find_function(programs.functions[0]);
  if (function == nullptr || std::ranges::any_of(programs.functions, other)) {
    throw unimplemented("{}: programs, got '{}' and others, expected one function of the module",
                        kRunParallel, programs.functions[0]);
  }
  check_fits(call, *function, programs.functions.size());
  std::vector<std::vector<Tensor>> arguments(programs.functions.size());
  const int each = function->num_parameters();
  for (int i = 0; i < call.num_operands(); ++i) {
    const Instruction& def = *call.operand(i).def;
    if (!def.is(Opcode::parameter))
      throw unimplemented("{}: operand {}, got a '{}', expected a constant", kRunParallel, i,
                          def.opcode());
    const auto number = static_cast<size_t>(def.attrs<hlo::ParameterAttrs>().index);
    arguments[i / each].push_back(program.arguments[number]);
  }
  if (client.platform() != "reference") {
    if (programs.grid.num_partitions == 1)
      return run_replicas(*program.module, function->name(), arguments, client, options);
    throw unimplemented("{}: partitions, got {}, expected one on '{}'", kRunParallel,
                        programs.grid.num_partitions, client.platform());
  }
  std::vector<Tensor> results;
  for (auto& of_process : hlo::evaluate_parallel(*function, programs.grid, arguments))
    results.insert(results.end(), of_process.begin(), of_process.end());
  return results;
}

}  // namespace

bool is_check(const Instruction& x) {
  return x.is(Opcode::custom_call) &&
         x.attrs<hlo::CustomCallAttrs>().call_target_name.starts_with(kPrefix);
}

bool has_checks(const hlo::Module& module) {
  return std::ranges::any_of(module.functions(), [](const auto& f) { return any_check(*f); });
}

CheckedProgram extract_checks(const hlo::Module& module, runtime::Client& client,
                              const runtime::CompileOptions& options) {
  CheckedProgram program{.module = module.clone()};
  ensure_main(*program.module);
  Computation& main = program.module->entry();
  program.module->aliases.clear();
  if (main.num_parameters() > 0) {
    throw unimplemented("{}: parameters of main, got {}, expected none in a program with checks",
                        module.name(), main.num_parameters());
  }
  // A function with another name is called by the main that ensure_main added.
  if (module.find_function("main") == nullptr) hlo::InlineCalls().run(*program.module);
  lift_inputs(program);
  for (Instruction* x : main.instructions()) {
    if (is_run_parallel(*x)) lift(*x, run_parallel(*x, program, client, options), program);
  }
  hlo::InlineCalls().run(*program.module);
  std::vector<Value> compared;
  for (Instruction* x : main.instructions()) {
    if (std::ranges::any_of(x->regions(), [](const auto& r) { return any_check(*r); })) {
      throw unimplemented("{}: check inside of a '{}', expected it in a function", module.name(),
                          x->opcode());
    }
    if (!is_check(*x)) continue;
    const auto& name = x->attrs<hlo::CustomCallAttrs>().call_target_name;
    program.checks.push_back({name, rule_of(*x)});
    if (x->num_operands() != 2)
      throw invalid_argument("{}: operands, got {}, expected 2", name, x->num_operands());
    compared.push_back(x->operand(0));
    compared.push_back(x->operand(1));
  }
  main.set_results(std::move(compared));
  remove_checks(*program.module);
  return program;
}

std::string run_checks(const CheckedProgram& program, runtime::Client& client,
                       const runtime::CompileOptions& options) {
  const auto executable = client.compile(*program.module, options);
  const std::vector<Tensor> results = runtime::run(*executable, program.arguments);
  for (size_t i = 0; i < program.checks.size(); ++i) {
    const Check& check = program.checks[i];
    const std::string wrong = difference(results[2 * i], results[2 * i + 1], check.rule);
    if (wrong.empty()) continue;
    return fmt::format("{} (number {} of {}): {}, {}", check.name, i + 1, program.checks.size(),
                       results[2 * i].type(), wrong);
  }
  return "";
}

}  // namespace systole::app
