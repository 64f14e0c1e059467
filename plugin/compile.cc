#include <algorithm>

#include "plugin/objects.h"
#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/pjrt_abi/element_type.h"
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
  if (options.device_assignment.empty() && given.num_replicas == 1 && !given.portable &&
      given.device_ordinal > 0) {
    options.device_assignment = {given.device_ordinal};
  }
  for (int p = 0; p < main.num_parameters(); ++p) {
    options.replicated_parameters.push_back(has_flag(main, p, kReplicatedAttribute));
  }
  return options;
}

void describe_interface(Program& program, const hlo::Module& module) {
  const hlo::Computation& main = module.entry();
  program.name = module.name();
  program.aliased_parameter.assign(main.results().size(), -1);
  program.donated.assign(static_cast<size_t>(main.num_parameters()), false);
  for (const auto& [parameter, result] : module.aliases) {
    program.aliased_parameter[result] = parameter;
    program.donated[parameter] = true;
  }
  for (int p = 0; p < main.num_parameters(); ++p) {
    program.parameters.push_back(main.parameter(p).type().storage());
    program.donors.push_back(program.donated[p] || has_flag(main, p, "jax.buffer_donor"));
  }
  for (const hlo::Value& result : main.results()) {
    program.results.push_back(result.type().storage());
    program.result_types.push_back(pjrt_abi::to_pjrt(result.dtype()));
    program.result_ranks.push_back(result.shape().dims().size());
    program.result_dims.insert(program.result_dims.end(), result.shape().begin(),
                               result.shape().end());
  }
  const auto of = [](const std::map<int, hlo::AttributeTexts>& all, size_t index) {
    const auto found = all.find(static_cast<int>(index));
    return found == all.end() ? hlo::AttributeTexts() : found->second;
  };
  for (size_t p = 0; p < program.parameters.size(); ++p) {
    const hlo::AttributeTexts attributes = of(main.attributes().parameters, p);
    program.parameter_layouts.push_back(read_layout(attributes, program.parameters[p]));
    program.parameter_memory_kinds.add(read_memory_kind(attributes));
  }
  for (size_t k = 0; k < program.results.size(); ++k) {
    const hlo::AttributeTexts attributes = of(main.attributes().results, k);
    program.result_layouts.push_back(read_layout(attributes, program.results[k]));
    program.result_memory_kinds.add(read_memory_kind(attributes));
  }
}

}  // namespace

Compiled compile(runtime::Client& client, std::string_view code, std::string_view format,
                 std::string_view options) {
  auto program = std::make_shared<Program>();
  program->code = code;
  program->format = format;
  program->options_bytes = options;
  program->options = pjrt_abi::decode_compile_options(options);
  const auto module = read_program(code, format);
  describe_interface(*program, *module);
  if (const size_t devices = client.devices().size();
      program->options.device_assignment.empty() && program->options.num_replicas > 0 &&
      static_cast<size_t>(program->options.num_replicas) > devices) {
    throw invalid_argument("systole plugin: num_replicas, got {}, expected at most {}, the devices",
                           program->options.num_replicas, devices);
  }
  std::shared_ptr<runtime::Executable> executable =
      client.compile(*module, runtime_options(module->entry(), program->options));
  program->fingerprint = fmt::format("{:016x}{:016x}", std::hash<std::string_view>()(code),
                                     std::hash<std::string_view>()(options));
  program->stats = executable->stats();
  program->cost.add("flops", static_cast<float>(program->stats.flops));
  return {std::move(program), std::move(executable)};
}

PJRT_LoadedExecutable* load(PJRT_Client* client, Compiled compiled) {
  auto loaded = std::make_unique<PJRT_LoadedExecutable>();
  loaded->client = client;
  const pjrt_abi::CompileOptions& options = compiled.program->options;
  for (int replica = 0; replica < options.num_replicas; ++replica) {
    int id = replica % static_cast<int>(client->devices.size());
    if (!options.device_assignment.empty()) {
      id = options.device_assignment[replica];
    } else if (options.num_replicas == 1 && !options.portable && options.device_ordinal > 0) {
      id = options.device_ordinal;
    }
    loaded->devices.push_back(client->devices[id]);
    loaded->logical_ids.push_back({.replica = replica, .partition = 0});
  }
  loaded->program = std::move(compiled.program);
  {
    const systole::MutexLock lock(loaded->mutex);
    loaded->executable = std::move(compiled.executable);
  }
  return loaded.release();
}

}  // namespace systole::plugin
