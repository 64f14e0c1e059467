#include "systole/hlo/passes/partition/partition.h"

#include "systole/hlo/ir/callees.h"
#include "systole/hlo/passes/partition/partitioner.h"

namespace systole::hlo {
namespace {

// Returns the given sharding if that is what the value has, otherwise the layout on the first mesh.
Sharding chosen_sharding(const spmd::Grid& grid, const std::optional<Sharding>& given,
                         const spmd::Layout& layout) {
  if (given && !given->mesh.is_maximal() && grid.layout_of(*given) == layout) return *given;
  return grid.sharding_of(layout);
}

void set_sharding(std::map<int, AttributeTexts>& texts, int i, const Sharding& sharding) {
  texts[i].erase("mhlo.sharding");
  texts[i]["sdy.sharding"] = sharding.to_string();
}

void copy_named_functions(const Module& from, const std::set<std::string>& names, Module& to) {
  std::unordered_set<const Computation*> needed;
  for (const std::string& name : names) {
    const Computation* const function = from.find_function(name);
    if (function != nullptr) needed.merge(reached_from(*function));
  }
  for (const auto& function : from.functions()) {
    if (!needed.contains(function.get()) || to.find_function(function->name()) != nullptr) continue;
    ValueMap map;
    Computation& copy = to.add_function(function->name());
    copy.clone_from(*function, map);
    copy.attributes() = function->attributes();
  }
}

}  // namespace

PartitionedModule partition(const Module& module, int num_partitions,
                            const PartitionOptions& options) {
  const spmd::Program program(module);
  const spmd::Grid grid(num_partitions, program.all_shardings());
  const spmd::Placements placements(program, grid, options);
  PartitionedModule result{.module = std::make_unique<Module>(module.name())};
  Module& written = *result.module;
  written.attributes = module.attributes;
  Computation& main = written.add_function("main");
  main.attributes() = program.main().attributes();
  spmd::Partitioner partitioner(program, grid, placements, options);
  partitioner.write_main(main);
  result.inspected = partitioner.take_inspected();
  copy_named_functions(program.module(), partitioner.named_functions(), written);
  for (int i = 0; i < main.num_parameters(); ++i) {
    const spmd::Layout& layout = placements.layout_of(program.main().parameter(i));
    result.parameters.push_back(chosen_sharding(grid, program.parameters()[i], layout));
    set_sharding(main.attributes().parameters, i, result.parameters.back());
  }
  for (int i = 0; i < static_cast<int>(main.results().size()); ++i) {
    const spmd::Layout& layout = placements.layout_of_result(i);
    result.results.push_back(chosen_sharding(grid, program.results()[i], layout));
    set_sharding(main.attributes().results, i, result.results.back());
  }
  for (const Module::Alias& alias : module.aliases) {
    const bool fits = main.parameter(alias.parameter).type() == main.results()[alias.result].type();
    if (fits) written.aliases.push_back(alias);
  }
  return result;
}

}  // namespace systole::hlo
