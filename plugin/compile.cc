#include <algorithm>

#include "plugin/objects.h"
#include "plugin/partitioning.h"
#include "plugin/shardings.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/pjrt_abi/element_type.h"
#include "systole/runtime/partitioned_program.h"
#include "systole/stablehlo/bytecode/bytecode.h"

namespace systole::plugin {
namespace {

std::unique_ptr<hlo::Module> read_program(std::string_view code, std::string_view format) {
  if (format != "mlir") {
    throw unimplemented("systole plugin: program format, got '{}', expected 'mlir'", format);
  }
  auto modules = hlo::read_modules(code, "program");
  if (modules.size() != 1) {
    throw invalid_argument("systole plugin: program, got {} modules, expected 1", modules.size());
  }
  hlo::verify(*modules[0]);
  return std::move(modules[0]);
}

// Whether parameter `index` of main has the attribute `name = true`.
bool has_flag(const hlo::Computation& main, int index, std::string_view name) {
  const auto& parameters = main.attributes().parameters;
  const auto attributes = parameters.find(index);
  if (attributes == parameters.end()) return false;
  const auto value = attributes->second.find(std::string(name));
  return value != attributes->second.end() && value->second == "true";
}

runtime::CompileOptions runtime_options(const hlo::Computation& main,
                                        const pjrt_abi::CompileOptions& given) {
  runtime::CompileOptions options{.num_replicas = given.num_replicas,
                                  .num_partitions = given.num_partitions,
                                  .device_assignment = given.device_assignment};
  if (options.device_assignment.empty() && given.num_replicas * given.num_partitions == 1 &&
      !given.portable && given.device_ordinal > 0) {
    options.device_assignment = {given.device_ordinal};
  }
  for (int p = 0; p < main.num_parameters(); ++p) {
    options.replicated_parameters.push_back(has_flag(main, p, kReplicatedAttribute));
  }
  return options;
}

// The order of axes in which a result is a parameter as it lies in memory: transposed axes lie as
// they did before. Others are row-major.
Layout natural_layout(const Program& program, hlo::Value value) {
  std::vector<const Dims*> permutations;  // from the result on
  while (!value.def->is(hlo::Opcode::parameter)) {
    if (value.def->is(hlo::Opcode::transpose)) {
      permutations.push_back(&value.def->attrs<hlo::TransposeAttrs>().permutation);
    } else if (!hlo::is_placement(*value.def) || value.def->num_operands() != 1) {
      break;
    }
    value = value.def->operand(0);
  }
  Layout layout = row_major(value.shape().rank());
  if (value.def->is(hlo::Opcode::parameter)) {
    layout = program.parameter_layouts[value.def->attrs<hlo::ParameterAttrs>().index];
  }
  for (auto at = permutations.rbegin(); at != permutations.rend(); ++at) {
    for (int64_t& axis : layout.minor_to_major) {
      axis = std::ranges::find(**at, axis) - (*at)->begin();
    }
  }
  return layout;
}

// A donor is given up only if a result can take its memory: one of as many bytes, which no other
// parameter is written over.
void match_donors(Program& program) {
  std::vector<bool> taken;
  for (const int parameter : program.aliased_parameter) taken.push_back(parameter >= 0);
  for (size_t p = 0; p < program.donors.size(); ++p) {
    if (!program.donors[p] || program.donated[p]) continue;
    size_t k = 0;
    while (k < taken.size() &&
           (taken[k] || program.results[k].byte_size() != program.parameters[p].byte_size())) {
      ++k;
    }
    program.donors[p] = k < taken.size();
    if (program.donors[p]) taken[k] = true;
  }
}

// `module` is the program of one device, `given` the one whose attributes tell of its parameters.
void describe_interface(Program& program, const hlo::Module& module, const hlo::Module& given) {
  const hlo::Computation& main = module.entry();
  program.name = given.name();
  program.aliased_parameter.assign(main.results().size(), -1);
  program.donated.assign(static_cast<size_t>(main.num_parameters()), false);
  for (const auto& [parameter, result] : module.aliases) {
    program.aliased_parameter[result] = parameter;
    program.donated[parameter] = true;
  }
  for (int p = 0; p < main.num_parameters(); ++p) {
    program.parameters.push_back(main.parameter(p).type().storage());
    program.donors.push_back(program.donated[p] || has_flag(given.entry(), p, "jax.buffer_donor"));
  }
  for (const hlo::Value& result : main.results()) {
    program.results.push_back(result.type().storage());
    program.result_types.push_back(pjrt_abi::to_pjrt(result.dtype()));
    program.result_ranks.push_back(result.shape().dims().size());
    program.result_dims.insert(program.result_dims.end(), result.shape().begin(),
                               result.shape().end());
  }
  match_donors(program);
  const auto of = [](const std::map<int, hlo::AttributeTexts>& all, size_t index) {
    const auto found = all.find(static_cast<int>(index));
    return found == all.end() ? hlo::AttributeTexts() : found->second;
  };
  for (size_t p = 0; p < program.parameters.size(); ++p) {
    const hlo::AttributeTexts attributes = of(given.entry().attributes().parameters, p);
    program.parameter_layouts.push_back(read_layout(attributes, program.parameters[p]));
    program.parameter_memory_kinds.add(read_memory_kind(attributes));
  }
  for (size_t k = 0; k < program.results.size(); ++k) {
    const hlo::AttributeTexts attributes = of(given.entry().attributes().results, k);
    const bool is_free = is_auto_layout(attributes);
    program.result_layouts.push_back(is_free ? natural_layout(program, main.results()[k])
                                             : read_layout(attributes, program.results[k]));
    program.result_memory_kinds.add(read_memory_kind(attributes));
  }
}

void check_devices(const pjrt_abi::CompileOptions& options, size_t devices) {
  std::vector<int> ids = options.device_assignment;
  std::ranges::sort(ids);
  // More replicas than devices share them, as our own client asks for.
  const bool may_share = options.num_partitions == 1 && ids.size() > devices;
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end() && !may_share) {
    throw invalid_argument("systole plugin: device assignment, got device {} twice, expected once",
                           *twice);
  }
  const auto wanted = int64_t{options.num_replicas} * options.num_partitions;
  if (!options.device_assignment.empty() || wanted <= static_cast<int64_t>(devices)) return;
  throw invalid_argument(
      "systole plugin: {} replicas of {} partitions, got {} devices, expected as many",
      options.num_replicas, options.num_partitions, devices);
}

// One flag for each value; the option may have one for all of them.
std::vector<bool> for_each_value(const std::vector<bool>& flags, size_t count) {
  return flags.size() == 1 ? std::vector<bool>(count, flags[0]) : flags;
}

runtime::PartitionedProgram split(const hlo::Module& module, const pjrt_abi::CompileOptions& given,
                                  const runtime::CompileOptions& options) {
  const hlo::Computation& main = module.entry();
  return runtime::partition_program(
      module, options,
      {.propagate_to_parameters = for_each_value(given.propagate_to_parameters,
                                                 static_cast<size_t>(main.num_parameters())),
       .propagate_to_results = for_each_value(given.propagate_to_results, main.results().size()),
       .custom_partitioner = custom_partitioner(options.num_partitions)});
}

std::vector<std::string> encoded(const std::vector<hlo::Sharding>& shardings, int num_devices) {
  std::vector<std::string> texts;
  for (const hlo::Sharding& sharding : shardings) {
    texts.push_back(encode_sharding(sharding, num_devices));
  }
  return texts;
}

// The statistics of one of the devices, of which the runtime counts all.
void divide_stats(Program& program, size_t num_devices) {
  runtime::ExecutableStats& stats = program.stats;
  const auto devices = static_cast<int64_t>(num_devices);
  const auto bytes_of = [](const std::vector<TensorType>& types) {
    int64_t bytes = 0;
    for (const TensorType& type : types) bytes += type.byte_size();
    return bytes;
  };
  stats.argument_bytes = bytes_of(program.parameters);
  stats.result_bytes = bytes_of(program.results);
  stats.temp_bytes = (stats.temp_bytes + devices - 1) / devices;
  stats.flops /= static_cast<double>(devices);
  stats.transcendentals /= static_cast<double>(devices);
}

}  // namespace

Compiled compile(runtime::Client& client, std::string_view code, std::string_view format,
                 std::string_view options) {
  auto program = std::make_shared<Program>();
  program->code = code;
  program->format = format;
  program->options_bytes = options;
  program->options = pjrt_abi::decode_compile_options(options);
  const auto given = read_program(code, format);
  check_devices(program->options, client.devices().size());
  const int num_partitions = program->options.num_partitions;
  runtime::PartitionedProgram parts{.options = runtime_options(given->entry(), program->options)};
  if (num_partitions > 1) {
    parts = split(*given, program->options, parts.options);
    tell_inspected(parts.inspected, num_partitions);
    program->parameter_shardings.set(encoded(parts.parameters, num_partitions));
    program->result_shardings.set(encoded(parts.results, num_partitions));
  }
  const hlo::Module& module = num_partitions > 1 ? *parts.module : *given;
  describe_interface(*program, module, *given);
  std::shared_ptr<runtime::Executable> executable = client.compile(module, parts.options);
  program->fingerprint = fmt::format("{:016x}{:016x}", std::hash<std::string_view>()(code),
                                     std::hash<std::string_view>()(options));
  program->stats = executable->stats();
  if (parts.options.num_replicas > 1) {
    divide_stats(*program, static_cast<size_t>(parts.options.num_replicas));
  }
  if (num_partitions > 1) program->of_device = std::move(parts.module);
  program->cost.add("flops", static_cast<float>(program->stats.flops));
  program->cost.add("transcendentals", static_cast<float>(program->stats.transcendentals));
  return {std::move(program), std::move(executable)};
}

std::unique_ptr<runtime::Executable> compile_for_unlike_values(
    const PJRT_LoadedExecutable& loaded) {
  const Program& program = *loaded.program;
  const auto given = read_program(program.code, program.format);
  runtime::PartitionedProgram parts =
      split(*given, program.options, runtime_options(given->entry(), program.options));
  parts.options.replicated_parameters.assign(program.parameters.size(), false);
  return loaded.client->runtime->compile(*parts.module, parts.options);
}

PJRT_LoadedExecutable* load(PJRT_Client* client, Compiled compiled) {
  auto loaded = std::make_unique<PJRT_LoadedExecutable>();
  loaded->client = client;
  const pjrt_abi::CompileOptions& options = compiled.program->options;
  const int count = options.num_replicas * options.num_partitions;
  for (int i = 0; i < count; ++i) {
    int id = i % static_cast<int>(client->devices.size());
    if (!options.device_assignment.empty()) {
      id = options.device_assignment[i];
    } else if (count == 1 && !options.portable && options.device_ordinal > 0) {
      id = options.device_ordinal;
    }
    loaded->devices.push_back(client->devices[id]);
    loaded->logical_ids.push_back(
        {.replica = i / options.num_partitions, .partition = i % options.num_partitions});
  }
  loaded->program = std::move(compiled.program);
  {
    const systole::MutexLock lock(loaded->mutex);
    loaded->executable = std::move(compiled.executable);
  }
  return loaded.release();
}

}  // namespace systole::plugin
