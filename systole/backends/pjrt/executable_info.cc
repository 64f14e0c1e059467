// What a plugin tells of a compiled program.
#include <string>

#include "systole/backends/pjrt/executable.h"
#include "systole/backends/pjrt/saved_program.h"

namespace systole::pjrt {
namespace {

// A PJRT_Executable, destroyed at the end.
class Info {
 public:
  Info(const Plugin& plugin, PJRT_LoadedExecutable* loaded) : plugin_(plugin) {
    auto args = pjrt_abi::make<PJRT_LoadedExecutable_GetExecutable_Args>();
    args.loaded_executable = loaded;
    plugin_.call(&PJRT_Api::PJRT_LoadedExecutable_GetExecutable,
                 "PJRT_LoadedExecutable_GetExecutable", args);
    executable_ = args.executable;
  }
  ~Info() {
    auto args = pjrt_abi::make<PJRT_Executable_Destroy_Args>();
    args.executable = executable_;
    plugin_.call_quietly(&PJRT_Api::PJRT_Executable_Destroy, "PJRT_Executable_Destroy", args);
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;

  // Calls a function of the executable. Returns false if the plugin does not have it.
  template <class Args>
  bool ask(PJRT_Error* (*PJRT_Api::*function)(Args*), std::string_view name, Args& args) const {
    args.executable = executable_;
    try {
      plugin_.call(function, name, args);
      return true;
    } catch (const Error& error) {
      if (error.code() == Code::unimplemented) return false;
      throw;
    }
  }

 private:
  const Plugin& plugin_;
  PJRT_Executable* executable_ = nullptr;
};

// Leaves alone what the plugin does not tell.
void read_cost(const Info& info, runtime::ExecutableStats& stats) {
  auto cost = pjrt_abi::make<PJRT_Executable_GetCostAnalysis_Args>();
  if (!info.ask(&PJRT_Api::PJRT_Executable_GetCostAnalysis, "PJRT_Executable_GetCostAnalysis",
                cost)) {
    return;
  }
  for (size_t i = 0; i < cost.num_properties; ++i) {
    const PJRT_NamedValue& value = cost.properties[i];
    if (value.type != PJRT_NamedValue_kFloat) continue;
    const std::string_view name(value.name, value.name_size);
    if (name == "flops") stats.flops = value.float_value;
    if (name == "transcendentals") stats.transcendentals = value.float_value;
  }
}

// Returns the bytes that one replica holds: its slice of a stacked array, the whole of any other.
int64_t bytes_of(std::span<const TensorType> types, const std::vector<bool>& stacked,
                 size_t replicas) {
  int64_t bytes = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    bytes += types[i].byte_size() / static_cast<int64_t>(stacked[i] ? replicas : 1);
  }
  return bytes;
}

}  // namespace

void PjrtExecutable::read_stats(double compile_seconds) {
  stats_.compile_seconds = compile_seconds;
  const Info info(*session_->plugin, loaded_);
  auto outputs = pjrt_abi::make<PJRT_Executable_NumOutputs_Args>();
  if (info.ask(&PJRT_Api::PJRT_Executable_NumOutputs, "PJRT_Executable_NumOutputs", outputs) &&
      outputs.num_outputs != interface_.results.size()) {
    throw internal_error("{}: results of '{}', got {}, expected {}", session_->platform,
                         interface_.name, outputs.num_outputs, interface_.results.size());
  }
  read_cost(info, stats_);
  auto memory = pjrt_abi::make<PJRT_Executable_GetCompiledMemoryStats_Args>();
  if (info.ask(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats,
               "PJRT_Executable_GetCompiledMemoryStats", memory)) {
    stats_.argument_bytes = memory.argument_size_in_bytes;
    stats_.result_bytes = memory.output_size_in_bytes - memory.alias_size_in_bytes;
    stats_.temp_bytes = memory.temp_size_in_bytes;
    stats_.code_bytes = memory.generated_code_size_in_bytes;
    return;
  }
  const size_t replicas = interface_.device_ids->size();
  stats_.argument_bytes = bytes_of(interface_.parameters, interface_.stacked_parameters, replicas);
  stats_.result_bytes = bytes_of(interface_.results, interface_.stacked_results, replicas);
}

std::string PjrtExecutable::optimized_program() const {
  const Info info(*session_->plugin, loaded_);
  auto program = pjrt_abi::make<PJRT_Program>();
  auto args = pjrt_abi::make<PJRT_Executable_OptimizedProgram_Args>();
  args.program = &program;
  constexpr std::string_view kFunction = "PJRT_Executable_OptimizedProgram";
  if (!info.ask(&PJRT_Api::PJRT_Executable_OptimizedProgram, kFunction, args)) return "";
  if (std::string_view(program.format, program.format_size) != "mlir") return "";
  std::string text(program.code_size, '\0');
  program.code = text.data();
  info.ask(&PJRT_Api::PJRT_Executable_OptimizedProgram, kFunction, args);
  return text;
}

std::string PjrtExecutable::serialize() const {
  const Info info(*session_->plugin, loaded_);
  auto args = pjrt_abi::make<PJRT_Executable_Serialize_Args>();
  if (!info.ask(&PJRT_Api::PJRT_Executable_Serialize, "PJRT_Executable_Serialize", args)) {
    throw unimplemented(
        "{}: PJRT_Executable_Serialize: plugin '{}' of PJRT {} does not write its programs",
        session_->platform, session_->plugin->path(), session_->plugin->version());
  }
  const auto release = [&args](PJRT_SerializedExecutable* bytes) {
    if (args.serialized_executable_deleter != nullptr) args.serialized_executable_deleter(bytes);
  };
  const std::unique_ptr<PJRT_SerializedExecutable, decltype(release)> kept(
      args.serialized_executable, release);
  return save_program(*session_, interface_, {args.serialized_bytes, args.serialized_bytes_size});
}

}  // namespace systole::pjrt
