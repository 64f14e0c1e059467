#include <algorithm>
#include <array>
#include <chrono>

#include "systole/backends/pjrt/executable.h"
#include "systole/backends/pjrt/pjrt_backend.h"
#include "systole/backends/pjrt/saved_program.h"
#include "systole/backends/pjrt/session.h"
#include "systole/hlo/passes/inline_calls.h"
#include "systole/hlo/passes/replicas/vectorize_replicas.h"
#include "systole/pjrt_abi/compile_options.h"
#include "systole/runtime/memory.h"
#include "systole/runtime/single_process.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"

namespace systole::pjrt {
namespace {

using runtime::CompileOptions;

constexpr std::string_view kDeserialize = "PJRT_Executable_DeserializeAndLoad";
constexpr std::string_view kFormats = "'auto', 'text' or 'bytecode'";
// Our own plugin computes a parameter with this attribute once for all replicas.
constexpr std::string_view kReplicated = "systole.replicated";
constexpr std::string_view kOwnPlatform = "systole";
// The newest version of StableHLO that this program writes.
constexpr std::array<int, 3> kNewest = {1, 20, 0};

// The version of bytecode for a plugin that reads `current`: not above what we write.
std::string bytecode_version(const std::string& current) {
  std::array<int, 3> parts{};
  if (std::sscanf(current.c_str(), "%d.%d.%d", parts.data(), &parts[1], &parts[2]) != 3) return "";
  if (parts > kNewest) parts = kNewest;
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

TensorType stacked_type(const TensorType& type, int num_replicas) {
  Dims dims = type.shape.dims();
  dims.insert(dims.begin(), num_replicas);
  return {type.dtype, Shape(std::move(dims))};
}

class PjrtClient final : public runtime::Client {
 public:
  PjrtClient(std::shared_ptr<const Session> session, std::string_view format)
      : session_(std::move(session)) {
    if (format != "auto" && format != "text" && format != "bytecode") {
      throw invalid_argument("pjrt: client option 'program_format', got '{}', expected {}", format,
                             kFormats);
    }
    if (format == "text") return;
    bytecode_ = bytecode_version(stablehlo_version(*session_->plugin));
    if (bytecode_.empty() && format == "bytecode") bytecode_ = "1.0.0";
  }

  std::string_view platform() const override { return session_->platform; }
  std::span<const runtime::Device> devices() const override { return session_->devices; }
  int process_index() const override { return session_->devices.front().process_index; }

  std::unique_ptr<runtime::Executable> compile(const hlo::Module& module,
                                               const CompileOptions& options) override {
    check_options(module, options);
    const auto start = std::chrono::steady_clock::now();
    Interface interface = interface_of(module, options);
    PJRT_LoadedExecutable* const loaded = compile_program(module, options, interface);
    auto executable = std::make_unique<PjrtExecutable>(session_, loaded, std::move(interface));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    executable->read_stats(elapsed.count());
    if (options.memory_limit > 0) {
      runtime::check_memory(session_->platform, module, executable->stats(), options.memory_limit);
    }
    return executable;
  }

  std::unique_ptr<runtime::Executable> deserialize(std::string_view bytes) override {
    const Plugin& plugin = *session_->plugin;
    if (!plugin.has(&PJRT_Api::PJRT_Executable_DeserializeAndLoad)) {
      throw unimplemented("{}: {}: plugin '{}' of PJRT {} does not read programs",
                          session_->platform, kDeserialize, plugin.path(), plugin.version());
    }
    const auto start = std::chrono::steady_clock::now();
    SavedProgram program = read_program(*session_, bytes);
    auto args = pjrt_abi::make<PJRT_Executable_DeserializeAndLoad_Args>();
    args.client = session_->client;
    args.serialized_executable = program.code.data();
    args.serialized_executable_size = program.code.size();
    plugin.call(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, kDeserialize, args);
    auto executable = std::make_unique<PjrtExecutable>(session_, args.loaded_executable,
                                                       std::move(program.interface));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    executable->read_stats(elapsed.count());
    return executable;
  }

  std::unique_ptr<runtime::Buffer> buffer_from_host(
      Tensor tensor, const runtime::BufferOptions& options) override {
    std::vector<int> ids(options.device_ids.begin(), options.device_ids.end());
    if (ids.empty()) ids = {session_->devices.front().id};
    const bool stacked = options.stacked && ids.size() > 1;
    const auto shared_ids = std::make_shared<const std::vector<int>>(std::move(ids));
    return std::make_unique<PjrtBuffer>(
        upload(session_, tensor, shared_ids, stacked, options.host_memory_free));
  }

  runtime::MemoryStats memory_stats(int device_id) const override {
    return pjrt::memory_stats(*session_, session_->device(device_id));
  }

 private:
  void check_options(const hlo::Module& module, const CompileOptions& options) const {
    const std::string& platform = session_->platform;
    runtime::check_single_process(platform, options);
    if (options.num_replicas < 1 || options.num_partitions < 1) {
      throw invalid_argument("{}: num_replicas and num_partitions, got {} and {}, expected >= 1",
                             platform, options.num_replicas, options.num_partitions);
    }
    if (options.num_partitions > 1) {
      throw unimplemented(
          "{}: num_partitions, got {}, expected 1: the pjrt backend splits no arrays", platform,
          options.num_partitions);
    }
    runtime::check_program_options(platform, options.program, {"profile"});
    if (const size_t count = options.device_assignment.size();
        count > 0 && count != static_cast<size_t>(options.num_replicas)) {
      throw invalid_argument("{}: device_assignment, got {} devices, expected {}, one a replica",
                             platform, count, options.num_replicas);
    }
    for (const int id : options.device_assignment) session_->device(id);
    const auto parameters = static_cast<size_t>(module.entry().num_parameters());
    if (const size_t count = options.replicated_parameters.size();
        count > 0 && count != parameters) {
      throw invalid_argument("{}: replicated_parameters, got {}, expected {}, one a parameter",
                             platform, count, parameters);
    }
  }

  Interface interface_of(const hlo::Module& module, const CompileOptions& options) const {
    const int replicas = options.num_replicas;
    const hlo::Computation& main = module.entry();
    Interface interface;
    interface.name = module.name();
    for (int p = 0; p < main.num_parameters(); ++p) {
      const bool once = replicas == 1 || (!options.replicated_parameters.empty() &&
                                          options.replicated_parameters[p]);
      const TensorType type = main.parameter(p).type().storage();
      interface.stacked_parameters.push_back(!once);
      interface.parameters.push_back(once ? type : stacked_type(type, replicas));
    }
    interface.stacked_results = varying_results(module, options);
    for (size_t k = 0; k < main.results().size(); ++k) {
      const TensorType type = main.results()[k].type().storage();
      interface.results.push_back(interface.stacked_results[k] ? stacked_type(type, replicas)
                                                               : type);
    }
    interface.aliased_parameter.assign(main.results().size(), -1);
    interface.aliased.assign(static_cast<size_t>(main.num_parameters()), false);
    for (const auto& [parameter, result] : module.aliases) {
      interface.aliased_parameter[result] = parameter;
      interface.aliased[parameter] = true;
    }
    std::vector<int> ids = options.device_assignment;
    for (int r = 0; ids.size() < static_cast<size_t>(replicas); ++r) {
      const size_t index = static_cast<size_t>(r) % session_->devices.size();
      ids.push_back(session_->devices[index].id);
    }
    interface.device_ids = std::make_shared<const std::vector<int>>(std::move(ids));
    return interface;
  }

  static std::vector<bool> varying_results(const hlo::Module& module,
                                           const CompileOptions& options) {
    if (options.num_replicas == 1) {
      return std::vector<bool>(module.entry().results().size(), false);
    }
    const auto inlined = module.clone();
    hlo::InlineCalls().run(*inlined);
    return hlo::varying_results(*inlined, {.num_replicas = options.num_replicas,
                                           .replicated_parameters = options.replicated_parameters});
  }

  std::string program_text(const hlo::Module& module) const {
    if (bytecode_.empty()) return hlo::print(module);
    return hlo::write_bytecode(module, {.version = bytecode_});
  }

  PJRT_LoadedExecutable* compile_program(const hlo::Module& module, const CompileOptions& options,
                                         const Interface& interface) const {
    std::string code;
    if (options.num_replicas > 1 && session_->platform == kOwnPlatform) {
      const auto marked = module.clone();
      for (size_t p = 0; p < interface.stacked_parameters.size(); ++p) {
        if (interface.stacked_parameters[p]) continue;
        marked->entry().attributes().parameters[static_cast<int>(p)][std::string(kReplicated)] =
            "true";
      }
      code = program_text(*marked);
    } else {
      code = program_text(module);
    }
    const std::string option_bytes = encode(pjrt_abi::CompileOptions{
        .num_replicas = options.num_replicas, .device_assignment = *interface.device_ids});
    constexpr std::string_view kFormat = "mlir";
    auto program = pjrt_abi::make<PJRT_Program>();
    program.code = code.data();
    program.code_size = code.size();
    program.format = kFormat.data();
    program.format_size = kFormat.size();
    auto args = pjrt_abi::make<PJRT_Client_Compile_Args>();
    args.client = session_->client;
    args.program = &program;
    args.compile_options = option_bytes.data();
    args.compile_options_size = option_bytes.size();
    session_->plugin->call(&PJRT_Api::PJRT_Client_Compile, "PJRT_Client_Compile", args);
    return args.executable;
  }

  std::shared_ptr<const Session> session_;
  std::string bytecode_;  // version of the bytecode that the plugin gets; "": text
};

}  // namespace

std::span<const runtime::OptionDef> client_options() {
  static const std::array<runtime::OptionDef, 2> options = {{
      {"plugin", std::string(),
       "path or name of the plugin, with options after '?'; \"\": SYSTOLE_PJRT_PLUGIN"},
      {"program_format", std::string("auto"),
       "'text', 'bytecode', or 'auto': bytecode if the plugin tells its version of StableHLO"},
  }};
  return options;
}

std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options) {
  const runtime::ClientOptions resolved =
      runtime::resolve_options("pjrt", client_options(), options);
  const Address address = parse_address(runtime::option<std::string>(resolved, "plugin"));
  return std::make_unique<PjrtClient>(open_session(address),
                                      runtime::option<std::string>(resolved, "program_format"));
}

}  // namespace systole::pjrt
