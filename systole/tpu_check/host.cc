#include "systole/tpu_check/host.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "systole/base/error.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/wire/varint.h"
#include "systole/pjrt_abi/compile_options.h"
#include "systole/pjrt_abi/struct_size.h"

namespace systole::tpu_check {
namespace {

using pjrt_abi::make;
using Values = std::map<std::string, std::string>;

void write(const std::string& path, const std::string& bytes) {
  const auto file = local_file_system().create(path);
  file->append(bytes);
  file->close();
}

// An error of the compiler's.
struct Failure {
  int code = 0;
  std::string message;
};

class Host {
 public:
  Host(const CompilerJob& job, const std::string& folder, Values& values)
      : job_(job), folder_(folder), values_(values) {}

  void run() {
    set_environment();
    begin("loading");
    load();
    begin("topology");
    make_topology();
    begin("compiling");
    compile();
    begin("reading");
    read_memory();
    read_costs();
    if (job_.serialize) serialize();
  }

 private:
  void begin(const char* stage) {
    values_["stage"] = stage;
    write(folder_ + "/stage", stage);
  }

  // Must be done before the library is loaded. Without these it asks a metadata server, writes a
  // log of its own and refuses to run beside another process that has loaded it.
  void set_environment() const {
    ::setenv("TPU_SKIP_MDS_QUERY", "1", 1);
    ::setenv("TPU_WORKER_HOSTNAMES", "localhost", 1);
    ::setenv("TPU_ACCELERATOR_TYPE", job_.system.c_str(), 1);
    ::setenv("TPU_MIN_LOG_LEVEL", "3", 1);
    ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 1);
    ::setenv("TPU_LOG_DIR", "disabled", 1);
    ::setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", 1);
    // An unknown flag ends the process.
    ::unsetenv("LIBTPU_INIT_ARGS");
    ::setenv("XLA_FLAGS",
             ("--xla_dump_to=" + folder_ + "/dump --xla_dump_hlo_as_text=true").c_str(), 1);
  }

  template <class Args>
  void call(PJRT_Error* (*PJRT_Api::*function)(Args*), Args& args) const {
    const auto* const slot = reinterpret_cast<const char*>(&(api_->*function));
    const auto offset = static_cast<size_t>(slot - reinterpret_cast<const char*>(api_));
    if (offset + sizeof(void*) > api_->struct_size || api_->*function == nullptr) {
      throw Failure{static_cast<int>(Code::unimplemented),
                    "this version of the library lacks a function of the PJRT API"};
    }
    if (PJRT_Error* const error = (api_->*function)(&args)) throw failure_of(error);
  }

  Failure failure_of(PJRT_Error* error) const {
    auto message = make<PJRT_Error_Message_Args>();
    message.error = error;
    api_->PJRT_Error_Message(&message);
    auto code = make<PJRT_Error_GetCode_Args>();
    code.error = error;
    if (api_->PJRT_Error_GetCode(&code) != nullptr) code.code = PJRT_Error_Code_UNKNOWN;
    return {static_cast<int>(code.code),
            message.message == nullptr ? "" : std::string(message.message, message.message_size)};
  }

  void load() {
    const auto refuse = [](std::string message) {
      throw Failure{static_cast<int>(Code::failed_precondition), std::move(message)};
    };
    void* const library = ::dlopen(job_.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) refuse(std::string("cannot be loaded: ") + ::dlerror());
    using GetApi = const PJRT_Api* (*)();
    const auto get_api = reinterpret_cast<GetApi>(::dlsym(library, "GetPjrtApi"));
    if (get_api == nullptr) refuse("has no function GetPjrtApi, so it is no PJRT plugin");
    api_ = get_api();
    if (api_ == nullptr) refuse("its function GetPjrtApi returned NULL");
    const PJRT_Api_Version& version = api_->pjrt_api_version;
    if (version.major_version != PJRT_API_MAJOR) {
      refuse(fmt::format("version of the PJRT API, got {}.{}, expected {}.x", version.major_version,
                         version.minor_version, static_cast<int>(PJRT_API_MAJOR)));
    }
    auto initialize = make<PJRT_Plugin_Initialize_Args>();
    call(&PJRT_Api::PJRT_Plugin_Initialize, initialize);
  }

  void make_topology() {
    auto create = make<PJRT_TopologyDescription_Create_Args>();
    create.topology_name = job_.topology.data();
    create.topology_name_size = job_.topology.size();
    PJRT_NamedValue config = chip_config();
    if (!job_.chip_config.empty()) {
      create.create_options = &config;
      create.num_options = 1;
    }
    call(&PJRT_Api::PJRT_TopologyDescription_Create, create);
    topology_ = create.topology;
    check_platform();
    auto devices = make<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
    devices.topology = topology_;
    call(&PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions, devices);
    values_["devices"] = std::to_string(devices.num_descriptions);
    for (size_t i = 0; i < devices.num_descriptions; ++i) {
      auto id = make<PJRT_DeviceDescription_Id_Args>();
      id.device_description = devices.descriptions[i];
      call(&PJRT_Api::PJRT_DeviceDescription_Id, id);
      device_ids_.push_back(id.id);
    }
    if (devices.num_descriptions > 0) read_device(devices.descriptions[0]);
  }

  PJRT_NamedValue chip_config() const {
    constexpr std::string_view kName = "chip_config_name";
    auto value = make<PJRT_NamedValue>();
    value.name = kName.data();
    value.name_size = kName.size();
    value.type = PJRT_NamedValue_kString;
    value.string_value = job_.chip_config.data();
    value.value_size = job_.chip_config.size();
    return value;
  }

  // Other PJRT plugins have topologies, too.
  void check_platform() {
    auto name = make<PJRT_TopologyDescription_PlatformName_Args>();
    name.topology = topology_;
    call(&PJRT_Api::PJRT_TopologyDescription_PlatformName, name);
    const std::string platform(name.platform_name, name.platform_name_size);
    if (platform == "tpu") return;
    begin("loading");
    throw Failure{static_cast<int>(Code::failed_precondition),
                  "compiles for the platform '" + platform + "'"};
  }

  void read_device(PJRT_DeviceDescription* device) {
    auto kind = make<PJRT_DeviceDescription_Kind_Args>();
    kind.device_description = device;
    call(&PJRT_Api::PJRT_DeviceDescription_Kind, kind);
    values_["kind"] = std::string(kind.device_kind, kind.device_kind_size);
    auto attributes = make<PJRT_DeviceDescription_Attributes_Args>();
    attributes.device_description = device;
    call(&PJRT_Api::PJRT_DeviceDescription_Attributes, attributes);
    for (size_t i = 0; i < attributes.num_attributes; ++i) {
      const PJRT_NamedValue& value = attributes.attributes[i];
      if (std::string_view(value.name, value.name_size) == "device_memory_bytes_limit" &&
          value.type == PJRT_NamedValue_kInt64) {
        values_["limit"] = std::to_string(value.int64_value);
      }
    }
  }

  // XLA's CompileOptionsProto.
  std::string options() const {
    const int wanted = job_.replicas * job_.partitions;
    if (wanted > static_cast<int>(device_ids_.size())) {
      throw Failure{static_cast<int>(Code::invalid_argument),
                    fmt::format("the program is for {} devices, {} has {}", wanted, job_.system,
                                device_ids_.size())};
    }
    std::string bytes = pjrt_abi::encode(
        {.num_replicas = job_.replicas,
         .num_partitions = job_.partitions,
         .use_spmd_partitioning = job_.partitions > 1,
         .use_shardy = job_.program.find("sdy") != std::string::npos,
         .device_assignment = {device_ids_.begin(), device_ids_.begin() + wanted}});
    if (!job_.low_effort) return bytes;
    // exec_time_optimization_effort, field 20 of the build options, which are field 3. Messages of
    // one field are merged.
    const float effort = -1;
    std::string build;
    append_varint64(build, 20U << 3U | 5U);
    build.append(reinterpret_cast<const char*>(&effort), sizeof effort);
    append_varint64(bytes, 3U << 3U | 2U);
    append_varint64(bytes, build.size());
    return bytes + build;
  }

  void compile() {
    std::string code = job_.program;
    auto program = make<PJRT_Program>();
    program.code = code.data();
    program.code_size = code.size();
    program.format = "mlir";
    program.format_size = 4;
    const std::string encoded = options();
    auto args = make<PJRT_Compile_Args>();
    args.topology = topology_;
    args.program = &program;
    args.compile_options = encoded.data();
    args.compile_options_size = encoded.size();
    call(&PJRT_Api::PJRT_Compile, args);
    executable_ = args.executable;
  }

  void read_memory() {
    auto stats = make<PJRT_Executable_GetCompiledMemoryStats_Args>();
    stats.executable = executable_;
    call(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats, stats);
    values_["arguments"] = std::to_string(stats.argument_size_in_bytes);
    values_["results"] = std::to_string(stats.output_size_in_bytes);
    values_["aliased"] = std::to_string(stats.alias_size_in_bytes);
    values_["temporaries"] = std::to_string(stats.temp_size_in_bytes);
    values_["code_bytes"] = std::to_string(stats.generated_code_size_in_bytes);
    values_["peak"] = std::to_string(stats.peak_memory_in_bytes);
    values_["total"] = std::to_string(stats.total_allocation_bytes);
  }

  void read_costs() {
    auto costs = make<PJRT_Executable_GetCostAnalysis_Args>();
    costs.executable = executable_;
    call(&PJRT_Api::PJRT_Executable_GetCostAnalysis, costs);
    for (size_t i = 0; i < costs.num_properties; ++i) {
      const PJRT_NamedValue& value = costs.properties[i];
      const std::string name(value.name, value.name_size);
      if (name == "flops" && value.type == PJRT_NamedValue_kFloat) {
        values_["flops"] = fmt::format("{}", value.float_value);
      }
    }
  }

  void serialize() {
    auto args = make<PJRT_Executable_Serialize_Args>();
    args.executable = executable_;
    call(&PJRT_Api::PJRT_Executable_Serialize, args);
    values_["executable"] = std::string(args.serialized_bytes, args.serialized_bytes_size);
    args.serialized_executable_deleter(args.serialized_executable);
  }

  const CompilerJob& job_;
  const std::string& folder_;
  Values& values_;
  const PJRT_Api* api_ = nullptr;
  PJRT_TopologyDescription* topology_ = nullptr;
  std::vector<int> device_ids_;
  PJRT_Executable* executable_ = nullptr;
};

}  // namespace

std::string encode_values(const std::map<std::string, std::string>& values) {
  std::string bytes;
  for (const auto& [name, value] : values) {
    for (const std::string* text : {&name, &value}) {
      append_varint64(bytes, text->size());
      bytes += *text;
    }
  }
  return bytes;
}

std::map<std::string, std::string> decode_values(std::string_view bytes) {
  std::map<std::string, std::string> values;
  const auto take = [&](std::string& text) {
    const auto size = read_varint64(bytes);
    if (!size || *size > bytes.size()) return false;
    text = bytes.substr(0, *size);
    bytes.remove_prefix(*size);
    return true;
  };
  std::string name;
  std::string value;
  while (!bytes.empty() && take(name) && take(value)) values[name] = value;
  return values;
}

void compile_in_this_process(const CompilerJob& job, const std::string& folder) {
  Values values;
  try {
    Host(job, folder, values).run();
  } catch (const Failure& failure) {
    values["code"] = std::to_string(failure.code);
    values["message"] = failure.message;
  }
  write(folder + "/values", encode_values(values));
}

}  // namespace systole::tpu_check
