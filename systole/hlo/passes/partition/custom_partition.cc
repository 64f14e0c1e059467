#include "systole/hlo/passes/partition/custom_partition.h"

#include "systole/base/error.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/inline_calls.h"

namespace systole::hlo::spmd {
namespace {

// The layout of a value of the call, whose sharding may be on another mesh than the program's.
Layout layout_of(const Grid& grid, const Sharding& sharding, const Shape& shape) {
  sharding.local_shape(shape);  // throws
  const Layout layout = grid.layout_of(sharding);
  for (int64_t device = 0; device < grid.num_devices(); ++device) {
    const std::vector<int64_t> part = sharding.shard_of(device);
    for (size_t d = 0; d < part.size(); ++d) {
      if (part[d] == grid.index(layout.dims[d], device)) continue;
      throw unimplemented(
          "custom_call: sharding of its partition, got {}, expected axes of the "
          "program's mesh",
          sharding.to_string());
    }
  }
  return layout;
}

std::vector<Layout> layouts_of(const Grid& grid, const std::vector<Sharding>& shardings,
                               std::span<const Value> values, std::string_view what) {
  if (shardings.size() != values.size()) {
    throw invalid_argument("custom_call: shardings of {} of its partition, got {}, expected {}",
                           what, shardings.size(), values.size());
  }
  std::vector<Layout> layouts;
  for (size_t i = 0; i < values.size(); ++i) {
    layouts.push_back(layout_of(grid, shardings[i], values[i].shape()));
  }
  return layouts;
}

void check_types(const Grid& grid, std::span<const Value> parts, std::span<const Value> wholes,
                 const std::vector<Layout>& layouts, std::string_view what) {
  if (parts.size() != wholes.size()) {
    throw invalid_argument("custom_call: {} of its partition, got {}, expected {}", what,
                           parts.size(), wholes.size());
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const TensorType expected = local_type(grid, wholes[i].type(), layouts[i]);
    if (parts[i].type() == expected) continue;
    throw invalid_argument("custom_call: {} {} of its partition, got {}, expected {}", what, i,
                           parts[i].type(), expected);
  }
}

}  // namespace

std::vector<Value> write_custom_partition(Partitioner& p, Instruction& x) {
  const CustomPartition own = p.custom_partition(x);
  const std::unique_ptr<Module> program = own.program->clone();
  InlineCalls().run(*program);
  const Computation& main = program->entry();
  const std::vector<Value> wholes = results_of(x);
  const std::vector<Value> given(x.operands().begin(), x.operands().end());
  const std::vector<Layout> operands = layouts_of(p.grid(), own.operands, given, "operands");
  const std::vector<Layout> results = layouts_of(p.grid(), own.results, wholes, "results");
  std::vector<Value> parameters;
  for (int i = 0; i < main.num_parameters(); ++i) parameters.push_back(main.parameter(i));
  check_types(p.grid(), parameters, given, operands, "operands");
  check_types(p.grid(), main.results(), wholes, results, "results");
  ValueMap map;
  for (size_t i = 0; i < parameters.size(); ++i) map[parameters[i]] = p.at(given[i], operands[i]);
  for (const Instruction* inner : main.instructions()) {
    if (inner->is(Opcode::parameter) || inner == main.terminator()) continue;
    copy_instruction(*inner, map, p.b().computation(), nullptr);
  }
  std::vector<Value> values;
  for (size_t i = 0; i < wholes.size(); ++i) {
    values.push_back(p.moved(map.at(main.results()[i]), results[i], wholes[i]));
  }
  return values;
}

}  // namespace systole::hlo::spmd
