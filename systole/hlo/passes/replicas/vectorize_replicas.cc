#include "systole/hlo/passes/replicas/vectorize_replicas.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/hlo/passes/replicas/variance.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo {
namespace {

int all_replicas(const ReplicaOptions& options) {
  return options.num_replicas * (options.processes ? options.processes->count : 1);
}

std::vector<bool> varying_parameters(const Module& module, const ReplicaOptions& options) {
  const auto count = static_cast<size_t>(module.entry().num_parameters());
  if (options.num_replicas < 1) {
    throw invalid_argument("vectorize_replicas: num_replicas, got {}, expected at least 1",
                           options.num_replicas);
  }
  if (options.processes && (options.processes->count < 1 || options.processes->index < 0 ||
                            options.processes->index >= options.processes->count)) {
    throw invalid_argument("vectorize_replicas: process, got {} of {}, expected one of them",
                           options.processes->index, options.processes->count);
  }
  const size_t given = options.replicated_parameters.size();
  if (given != 0 && given != count) {
    throw invalid_argument("vectorize_replicas: replicated_parameters, got {}, expected {}", given,
                           count);
  }
  std::vector<bool> varying(count, all_replicas(options) > 1);
  for (size_t i = 0; i < given; ++i) {
    if (options.replicated_parameters[i]) varying[i] = false;
  }
  return varying;
}

// An updated value shares its buffer with the old one, so both are stacked or neither is.
void take_aliases(const Module& from, ReplicatedModule& to) {
  for (const auto& alias : from.aliases) {
    const bool parameter = to.varying_parameters[alias.parameter];
    const bool result = to.varying_results[alias.result];
    if (!parameter && result) {
      throw invalid_argument(
          "vectorize_replicas: result {}, got a value that differs between replicas, expected one "
          "value for replicated parameter {}, which it updates",
          alias.result, alias.parameter);
    }
    if (parameter == result) to.module->aliases.push_back(alias);
  }
}

std::vector<bool> varying(std::span<const Value> values, const replicas::Variance& variance) {
  std::vector<bool> flags;
  for (const Value& value : values) flags.push_back(variance.varying(value));
  return flags;
}

bool uses_replicas(const Computation& computation) {
  for (const Instruction* x : computation.instructions()) {
    if (replicas::meets_others(*x)) return true;
    for (const auto& region : x->regions()) {
      if (uses_replicas(*region)) return true;
    }
  }
  return false;
}

}  // namespace

ReplicatedModule vectorize_replicas(const Module& module, const ReplicaOptions& options) {
  ReplicatedModule result{.module = std::make_unique<Module>(module.name()),
                          .varying_parameters = varying_parameters(module, options),
                          .varying_results = {}};
  result.module->budget = module.budget;
  const Computation& main = module.entry();
  for (const auto& function : module.functions()) {
    if (function.get() == &main) continue;
    ValueMap none;
    result.module->add_function(function->name()).clone_from(*function, none);
  }
  const replicas::Variance variance(module, result.varying_parameters, all_replicas(options));
  result.varying_results = varying(main.results(), variance);
  replicas::Vectorizer(variance, options)
      .write_main(main, result.module->add_function(main.name()), result.varying_parameters);
  take_aliases(module, result);
  return result;
}

bool uses_replicas(const Module& module) {
  return std::ranges::any_of(module.functions(),
                             [](const auto& function) { return uses_replicas(*function); });
}

std::vector<bool> varying_results(const Module& module, const ReplicaOptions& options) {
  const replicas::Variance variance(module, varying_parameters(module, options),
                                    all_replicas(options));
  return varying(module.entry().results(), variance);
}

}  // namespace systole::hlo
