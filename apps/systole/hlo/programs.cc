#include "apps/systole/hlo/programs.h"

#include <fmt/core.h>

#include <iostream>
#include <iterator>
#include <set>

#include "apps/systole/hlo/checks.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/bytecode/bytecode.h"

namespace systole::app {
std::string read_text(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  return read_file(default_file_system(), path);
}

std::vector<std::unique_ptr<hlo::Module>> parse_programs(const std::string& text,
                                                         const std::string& path) {
  auto modules = hlo::read_modules(text, path);
  for (const auto& module : modules) hlo::verify(*module);
  return modules;
}

std::unique_ptr<hlo::Module> read_program(const std::string& path) {
  return read_program(read_text(path), path);
}

std::unique_ptr<hlo::Module> read_program(const std::string& bytes, const std::string& path) {
  auto modules = parse_programs(bytes, path);
  if (modules.size() != 1)
    throw invalid_argument("{}: modules, got {}, expected one", path, modules.size());
  return std::move(modules[0]);
}

namespace {

bool is_public(const hlo::Computation& function) {
  const auto& attributes = function.attributes().function;
  const auto visibility = attributes.find("sym_visibility");
  return visibility != attributes.end() && visibility->second == "\"public\"";
}

void add_callees(const hlo::Computation& computation, std::set<std::string>& names) {
  for (const hlo::Instruction* x : computation.instructions()) {
    for (const std::string& name : hlo::callees(x->attrs())) names.insert(name);
    for (const auto& region : x->regions()) add_callees(*region, names);
  }
}

// Returns the public functions that no function calls, or all functions if there are none.
std::vector<const hlo::Computation*> entry_functions(const hlo::Module& module) {
  std::set<std::string> called;
  for (const auto& function : module.functions()) add_callees(*function, called);
  std::vector<const hlo::Computation*> entries;
  std::vector<const hlo::Computation*> all;
  for (const auto& function : module.functions()) {
    all.push_back(function.get());
    if (is_public(*function) && !called.contains(function->name())) entries.push_back(all.back());
  }
  return entries.empty() ? all : entries;
}

// "@f, @g and 3 others"
std::string names_of(const std::vector<const hlo::Computation*>& functions) {
  constexpr size_t kMax = 8;
  std::string text;
  for (size_t i = 0; i < functions.size() && i < kMax; ++i) {
    text += fmt::format("{}@{}", i == 0 ? "" : ", ", functions[i]->name());
  }
  if (functions.size() > kMax) text += fmt::format(" and {} others", functions.size() - kMax);
  return text;
}

}  // namespace

void ensure_main(hlo::Module& module) {
  if (module.find_function("main") != nullptr) return;
  const std::vector<const hlo::Computation*> functions = entry_functions(module);
  const bool alone = functions.size() == 1;
  for (const hlo::Computation* function : functions) {
    if (alone || function->num_parameters() == 0) continue;
    throw invalid_argument(
        "module '{}': functions, got {} ({}) and none of them 'main', expected 'main'",
        module.name(), functions.size(), names_of(functions));
  }
  add_main(module, functions);
}

void add_main(hlo::Module& module, std::span<const hlo::Computation* const> functions) {
  hlo::Computation& main = module.add_function("main");
  std::vector<hlo::Value> results;
  for (const hlo::Computation* function : functions) {
    std::vector<hlo::Value> arguments;
    arguments.reserve(static_cast<size_t>(function->num_parameters()));
    for (int i = 0; i < function->num_parameters(); ++i)
      arguments.push_back(main.add_parameter(function->parameter(i).type()));
    std::vector<TensorType> types;
    for (const hlo::Value& result : function->results()) types.push_back(result.type());
    hlo::Instruction* call = hlo::Builder(main).op(hlo::Opcode::call, std::move(arguments),
                                                   hlo::CallAttrs{function->name()}, types);
    for (int i = 0; i < call->num_results(); ++i) results.push_back(call->result(i));
  }
  main.set_results(std::move(results));
}

namespace {

int remove_checks_of(hlo::Computation& computation) {
  int removed = 0;
  for (hlo::Instruction* x : computation.instructions()) {
    for (const auto& region : x->regions()) removed += remove_checks_of(*region);
    if (!is_check(*x)) continue;
    for (int i = 0; i < x->num_results(); ++i)
      hlo::Computation::replace_all_uses(x->result(i), x->operand(0));
    computation.erase(x);
    ++removed;
  }
  return removed;
}

}  // namespace

int remove_checks(hlo::Module& module) {
  int removed = 0;
  for (const auto& function : module.functions()) removed += remove_checks_of(*function);
  return removed;
}

runtime::Client& backend(const std::string& name) { return runtime::client(name); }

}  // namespace systole::app
