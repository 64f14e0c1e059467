#include "systole/hlo/testing/partitioned.h"

#include <fmt/ranges.h>

#include "systole/hlo/passes/partition/partition.h"
#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/index.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/random_module.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo::testing {
namespace {

// Returns a device's part of the array.
Tensor shard_of(const Tensor& whole, const Sharding& sharding, int64_t device) {
  const Shape shape = sharding.local_shape(whole.shape());
  const std::vector<int64_t> place = sharding.shard_of(device);
  StridedView from = view_of(whole.shape());
  for (int d = 0; d < shape.rank(); ++d) from.offset += place[d] * shape[d] * from.strides[d];
  Tensor part(whole.dtype(), shape);
  if (part.num_elements() > 0) copy_strided(part, view_of(shape), whole, from, shape.dims());
  return part;
}

// Runs the program with parts of `arguments`. Returns "" if each device has its part of `expected`,
// otherwise the first difference.
std::string device_difference(const Module& module, const PartitionedModule& partitioned,
                              int num_devices, const std::vector<Tensor>& arguments,
                              const std::vector<Tensor>& expected,
                              const std::vector<double>& tolerances, const DeviceRunner& run) {
  std::vector<std::vector<Tensor>> parts(static_cast<size_t>(num_devices));
  for (int64_t device = 0; device < num_devices; ++device) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      parts[device].push_back(shard_of(arguments[i], partitioned.parameters[i], device));
    }
  }
  const auto results =
      run ? run(module, num_devices, parts)
          : evaluate_parallel(partitioned.module->entry(), {.num_partitions = num_devices}, parts);
  for (int64_t device = 0; device < num_devices; ++device) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const Tensor wanted = shard_of(expected[i], partitioned.results[i], device);
      const double tolerance = tolerances.empty() ? 1e-4 : tolerances[i];
      const std::string text = difference(results[device][i], wanted, tolerance);
      if (!text.empty()) return fmt::format("device {}, result {}: {}", device, i, text);
    }
  }
  return "";
}

}  // namespace

std::string mesh_of(int num_devices) {
  return fmt::format("<[\"x\"={}, \"y\"=2, \"z\"={}]>", num_devices >= 8 ? num_devices / 4 : 1,
                     num_devices >= 4 ? 2 : 1);
}

std::string random_sharding(RandomStream& random, std::span<const int64_t> sizes, bool may_be_sum) {
  std::vector<std::string> axes = {"\"x\"", "\"y\"", "\"z\""};
  std::string text;
  for (int64_t size : sizes) {
    std::string dim;
    while (!axes.empty() && size > 0 && size % 2 == 0 && random.next_below(5) < 2) {
      const size_t k = random.next_below(axes.size());
      dim += (dim.empty() ? "" : ", ") + axes[k];
      axes.erase(axes.begin() + static_cast<int64_t>(k));
      size /= 2;
    }
    if (random.next_below(2) == 0) dim += dim.empty() ? "?" : ", ?";
    text += (text.empty() ? "{" : ", {") + dim + "}";
  }
  text = "#sdy.sharding<@mesh, [" + text + "]";
  const bool is_sum = may_be_sum && !axes.empty() && random.next_below(3) == 0;
  return text + (is_sum ? fmt::format(", unreduced={{{}}}>", fmt::join(axes, ", ")) : ">");
}

void shard_randomly(Module& module, int num_devices, uint64_t seed) {
  RandomStream random(seed, 1);
  module.attributes["sdy.mesh @mesh"] = mesh_of(num_devices);
  Computation& main = module.entry();
  const auto text = [&](Value value) { return random_sharding(random, value.shape().dims()); };
  for (int i = 0; i < main.num_parameters(); ++i) {
    if (random.next_below(3) == 0) continue;
    main.attributes().parameters[i]["sdy.sharding"] = text(main.parameter(i));
  }
  for (size_t i = 0; i < main.results().size(); ++i) {
    if (random.next_below(3) == 0) continue;
    main.attributes().results[static_cast<int>(i)]["sdy.sharding"] = text(main.results()[i]);
  }
  const std::function<void(Computation&)> add_constraints = [&](Computation& computation) {
    for (Instruction* x : computation.instructions()) {
      const bool nests = x->is(Opcode::while_) || x->is(Opcode::if_) || x->is(Opcode::case_);
      for (const auto& region : x->regions()) {
        if (nests) add_constraints(*region);
      }
      if (x->num_results() != 1 || x->shape().rank() == 0 || random.next_below(4) != 0) continue;
      if (x == computation.terminator() || x->is(Opcode::parameter)) continue;
      CustomCallAttrs attrs{.call_target_name = "Sharding"};
      const bool adds = is_numeric(x->dtype()) && x->dtype() != DType::pred;
      const std::string sharding = random_sharding(random, x->shape().dims(), adds);
      attrs.others.push_back({"sdy.sharding", {sharding}});
      Instruction* const behind = computation.insert(Opcode::custom_call, {x->result()},
                                                     {x->type()}, attrs, computation.terminator());
      const std::vector<Instruction*> all = computation.instructions();
      const auto next = std::next(std::ranges::find(all, x));
      computation.move_before(behind, *next);
      Computation::replace_all_uses(x->result(), behind->result());
      behind->set_operand(0, x->result());
    }
  };
  add_constraints(main);
}

std::string partition_difference(const Module& module, int num_devices, uint64_t seed,
                                 const Module* whole, const std::vector<double>& tolerances,
                                 const DeviceRunner& run) {
  if (whole == nullptr) whole = &module;
  const std::vector<Tensor> arguments = random_arguments(*whole, seed);
  const std::vector<Tensor> expected = Evaluator().run(whole->entry(), arguments);
  const PartitionedModule partitioned = partition(module, num_devices);
  verify(*partitioned.module);
  const std::string text =
      device_difference(module, partitioned, num_devices, arguments, expected, tolerances, run);
  return text.empty() ? "" : text + "\n" + print(*partitioned.module);
}

}  // namespace systole::hlo::testing
