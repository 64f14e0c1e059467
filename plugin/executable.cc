#include <charconv>
#include <cstring>

#include "plugin/error.h"
#include "plugin/functions.h"
#include "plugin/objects.h"
#include "systole/runtime/serialized_program.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"

namespace systole::plugin {
namespace {

constexpr std::string_view kKind = "systole-pjrt-2";
constexpr std::string_view kDeserialize = "PJRT_Executable_DeserializeAndLoad";

// A line with the sizes of format, options and code, then these.
std::string serialize(const Program& program) {
  std::string body = fmt::format("{} {} {}\n", program.format.size(), program.options_bytes.size(),
                                 program.code.size());
  body += program.format;
  body += program.options_bytes;
  body += program.code;
  return runtime::seal(kKind, body);
}

Error not_ours() {
  return make_error(Code::data_loss, "{}: got other sizes, expected a program of '{}'",
                    kDeserialize, kKind);
}

size_t read_size(std::string_view& line) {
  size_t size = 0;
  if (line.starts_with(' ')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), size);
  if (error != std::errc()) throw not_ours();
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return size;
}

struct Serialized {
  std::string_view format;
  std::string_view options;
  std::string_view code;
};

Serialized deserialize(std::string_view bytes) {
  const std::string_view body = runtime::open_sealed(kDeserialize, kKind, bytes);
  const size_t newline = body.find('\n');
  if (newline == std::string_view::npos) throw not_ours();
  std::string_view line = body.substr(0, newline);
  const size_t format = read_size(line);
  const size_t options = read_size(line);
  const size_t code = read_size(line);
  const std::string_view rest = body.substr(newline + 1);
  if (format > rest.size() || options > rest.size() - format ||
      code != rest.size() - format - options) {
    throw not_ours();
  }
  return {rest.substr(0, format), rest.substr(format, options), rest.substr(format + options)};
}

std::string_view options_or(const char* given, size_t size, std::string_view other) {
  return given == nullptr || size == 0 ? other : std::string_view(given, size);
}

// Shardings are left out: types are those of the device's parts.
std::string text_of_device(const hlo::Module& program) {
  const auto module = program.clone();
  const auto drop = [](auto& attributes) {
    std::erase_if(attributes, [](const auto& row) {
      return row.first.starts_with("sdy.") || row.first == "mhlo.sharding";
    });
  };
  drop(module->attributes);
  for (const auto& function : module->functions()) {
    hlo::FunctionAttributes& attributes = function->attributes();
    drop(attributes.function);
    for (auto& [index, texts] : attributes.parameters) drop(texts);
    for (auto& [index, texts] : attributes.results) drop(texts);
  }
  return hlo::print(*module);
}

std::string program_text(const Program& program) {
  if (program.of_device != nullptr) return text_of_device(*program.of_device);
  const bool is_text = !hlo::is_bytecode(program.code);
  return is_text ? program.code : hlo::bytecode_to_text(program.code, "program");
}

// Sets `program` as the two calls of PJRT_Executable_OptimizedProgram expect.
void give_program(const Program& program, PJRT_Program& target) {
  const std::string text = program_text(program);
  target.format = "mlir";
  target.format_size = 4;
  if (target.code != nullptr) {
    if (target.code_size < text.size()) {
      throw invalid_argument("PJRT_Executable_OptimizedProgram: code_size, got {}, expected {}",
                             target.code_size, text.size());
    }
    std::memcpy(target.code, text.data(), text.size());
  }
  target.code_size = text.size();
}

}  // namespace

PJRT_Error* client_compile(PJRT_Client_Compile_Args* args) {
  return run("PJRT_Client_Compile", args, [](PJRT_Client_Compile_Args& a) {
    check_struct("PJRT_Program", a.program, kSmallestStruct<PJRT_Program>);
    const PJRT_Program& given = *a.program;
    a.executable = load(a.client, compile(*a.client->runtime, {given.code, given.code_size},
                                          {given.format, given.format_size},
                                          {a.compile_options, a.compile_options_size}));
  });
}

PJRT_Error* compile(PJRT_Compile_Args* args) {
  return run("PJRT_Compile", args, [](PJRT_Compile_Args& a) {
    check_struct("PJRT_Program", a.program, kSmallestStruct<PJRT_Program>);
    const PJRT_Program& given = *a.program;
    Compiled compiled =
        compile(client_of(*a.topology), {given.code, given.code_size},
                {given.format, given.format_size}, {a.compile_options, a.compile_options_size});
    a.executable = new PJRT_Executable(std::move(compiled.program));
  });
}

PJRT_Error* client_load(PJRT_Client_Load_Args* args) {
  return run("PJRT_Client_Load", args, [](PJRT_Client_Load_Args& a) {
    const Program& program = *a.executable->program;
    a.loaded_executable =
        load(a.client,
             compile(*a.client->runtime, program.code, program.format,
                     options_or(a.compile_options, a.compile_options_size, program.options_bytes)));
  });
}

PJRT_Error* executable_deserialize_and_load(PJRT_Executable_DeserializeAndLoad_Args* args) {
  return run(kDeserialize, args, [](PJRT_Executable_DeserializeAndLoad_Args& a) {
    const Serialized program = deserialize({a.serialized_executable, a.serialized_executable_size});
    const std::string_view options =
        options_or(a.overridden_serialized_compile_options,
                   a.overridden_serialized_compile_options_size, program.options);
    a.loaded_executable =
        load(a.client, compile(*a.client->runtime, program.code, program.format, options));
  });
}

PJRT_Error* executable_destroy(PJRT_Executable_Destroy_Args* args) {
  return run("PJRT_Executable_Destroy", args,
             [](PJRT_Executable_Destroy_Args& a) { delete a.executable; });
}

PJRT_Error* executable_name(PJRT_Executable_Name_Args* args) {
  return run("PJRT_Executable_Name", args, [](PJRT_Executable_Name_Args& a) {
    a.executable_name = a.executable->program->name.c_str();
    a.executable_name_size = a.executable->program->name.size();
  });
}

PJRT_Error* executable_num_replicas(PJRT_Executable_NumReplicas_Args* args) {
  return run("PJRT_Executable_NumReplicas", args, [](PJRT_Executable_NumReplicas_Args& a) {
    a.num_replicas = static_cast<size_t>(a.executable->program->options.num_replicas);
  });
}

PJRT_Error* executable_num_partitions(PJRT_Executable_NumPartitions_Args* args) {
  return run("PJRT_Executable_NumPartitions", args, [](PJRT_Executable_NumPartitions_Args& a) {
    a.num_partitions = static_cast<size_t>(a.executable->program->options.num_partitions);
  });
}

PJRT_Error* executable_num_outputs(PJRT_Executable_NumOutputs_Args* args) {
  return run("PJRT_Executable_NumOutputs", args, [](PJRT_Executable_NumOutputs_Args& a) {
    a.num_outputs = a.executable->program->results.size();
  });
}

PJRT_Error* executable_size_of_generated_code_in_bytes(
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  return run("PJRT_Executable_SizeOfGeneratedCodeInBytes", args,
             [](PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& a) {
               a.size_in_bytes = a.executable->program->stats.code_bytes;
             });
}

PJRT_Error* executable_get_cost_analysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  return run("PJRT_Executable_GetCostAnalysis", args, [](PJRT_Executable_GetCostAnalysis_Args& a) {
    a.properties = a.executable->program->cost.data();
    a.num_properties = a.executable->program->cost.size();
  });
}

PJRT_Error* executable_get_compiled_memory_stats(
    PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  return run("PJRT_Executable_GetCompiledMemoryStats", args,
             [](PJRT_Executable_GetCompiledMemoryStats_Args& a) {
               const runtime::ExecutableStats& stats = a.executable->program->stats;
               // Callers need not clear what is not known.
               constexpr size_t kFirst = offsetof(PJRT_Executable_GetCompiledMemoryStats_Args,
                                                  generated_code_size_in_bytes);
               std::memset(reinterpret_cast<std::byte*>(&a) + kFirst, 0,
                           PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE - kFirst);
               a.generated_code_size_in_bytes = stats.code_bytes;
               a.argument_size_in_bytes = stats.argument_bytes;
               a.output_size_in_bytes = stats.result_bytes;
               a.temp_size_in_bytes = stats.temp_bytes;
               a.peak_memory_in_bytes =
                   stats.argument_bytes + stats.result_bytes + stats.temp_bytes;
               a.total_size_in_bytes = a.peak_memory_in_bytes + stats.code_bytes;
             });
}

PJRT_Error* executable_output_element_types(PJRT_Executable_OutputElementTypes_Args* args) {
  return run(
      "PJRT_Executable_OutputElementTypes", args, [](PJRT_Executable_OutputElementTypes_Args& a) {
        // The API's pointer is to memory that may change; nobody changes it.
        a.output_types = const_cast<PJRT_Buffer_Type*>(a.executable->program->result_types.data());
        a.num_output_types = a.executable->program->result_types.size();
      });
}

PJRT_Error* executable_output_dimensions(PJRT_Executable_OutputDimensions_Args* args) {
  return run("PJRT_Executable_OutputDimensions", args,
             [](PJRT_Executable_OutputDimensions_Args& a) {
               a.num_outputs = a.executable->program->results.size();
               a.dims = a.executable->program->result_dims.data();
               a.dim_sizes = a.executable->program->result_ranks.data();
             });
}

PJRT_Error* executable_output_memory_kinds(PJRT_Executable_OutputMemoryKinds_Args* args) {
  return run("PJRT_Executable_OutputMemoryKinds", args,
             [](PJRT_Executable_OutputMemoryKinds_Args& a) {
               const MemoryKindNames& kinds = a.executable->program->result_memory_kinds;
               a.num_outputs = kinds.names.size();
               a.memory_kinds = kinds.names.data();
               a.memory_kind_sizes = kinds.sizes.data();
             });
}

PJRT_Error* executable_parameter_memory_kinds(PJRT_Executable_ParameterMemoryKinds_Args* args) {
  return run("PJRT_Executable_ParameterMemoryKinds", args,
             [](PJRT_Executable_ParameterMemoryKinds_Args& a) {
               const MemoryKindNames& kinds = a.executable->program->parameter_memory_kinds;
               a.num_parameters = kinds.names.size();
               a.memory_kinds = kinds.names.data();
               a.memory_kind_sizes = kinds.sizes.data();
             });
}

PJRT_Error* executable_optimized_program(PJRT_Executable_OptimizedProgram_Args* args) {
  return run("PJRT_Executable_OptimizedProgram", args,
             [](PJRT_Executable_OptimizedProgram_Args& a) {
               check_struct("PJRT_Program", a.program, kSmallestStruct<PJRT_Program>);
               give_program(*a.executable->program, *a.program);
             });
}

PJRT_Error* executable_fingerprint(PJRT_Executable_Fingerprint_Args* args) {
  return run("PJRT_Executable_Fingerprint", args, [](PJRT_Executable_Fingerprint_Args& a) {
    a.executable_fingerprint = a.executable->program->fingerprint.c_str();
    a.executable_fingerprint_size = a.executable->program->fingerprint.size();
  });
}

PJRT_Error* executable_serialize(PJRT_Executable_Serialize_Args* args) {
  return run("PJRT_Executable_Serialize", args, [](PJRT_Executable_Serialize_Args& a) {
    auto* const kept = new PJRT_SerializedExecutable{serialize(*a.executable->program)};
    a.serialized_bytes = kept->bytes.data();
    a.serialized_bytes_size = kept->bytes.size();
    a.serialized_executable = kept;
    a.serialized_executable_deleter = [](PJRT_SerializedExecutable* e) { delete e; };
  });
}

PJRT_Error* executable_get_compile_options(PJRT_Executable_GetCompileOptions_Args* args) {
  return run(
      "PJRT_Executable_GetCompileOptions", args, [](PJRT_Executable_GetCompileOptions_Args& a) {
        auto* const kept = new PJRT_SerializedCompileOptions{a.executable->program->options_bytes};
        a.serialized_bytes = kept->bytes.data();
        a.serialized_bytes_size = kept->bytes.size();
        a.serialized_compile_options = kept;
        a.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions* o) { delete o; };
      });
}

}  // namespace systole::plugin

PJRT_Executable::PJRT_Executable(std::shared_ptr<const systole::plugin::Program> compiled)
    : program(std::move(compiled)) {
  using systole::plugin::Layout;
  for (const Layout& x : program->parameter_layouts) {
    parameter_layouts.push_back(const_cast<Layout*>(&x));
  }
  for (const Layout& x : program->result_layouts) {
    result_layouts.push_back(const_cast<Layout*>(&x));
  }
}
