// Programs that the PJRT plugin loads: the input as a serialized program, then its two items,
// compile options and code, as a serialized program and as those of PJRT_Client_Compile.
#include <fmt/format.h>

#include <cstdlib>

#include "systole/pjrt_abi/pjrt_c_api.h"
#include "systole/runtime/serialized_program.h"
#include "tests/fuzz/input.h"

extern "C" const PJRT_Api* GetPjrtApi();

namespace {

using namespace systole;

void destroy(PJRT_Error* error) {
  if (error == nullptr) return;
  PJRT_Error_Destroy_Args args{};
  args.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
  args.error = error;
  GetPjrtApi()->PJRT_Error_Destroy(&args);
}

void destroy(PJRT_LoadedExecutable* executable) {
  PJRT_LoadedExecutable_Destroy_Args args{};
  args.struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE;
  args.executable = executable;
  destroy(GetPjrtApi()->PJRT_LoadedExecutable_Destroy(&args));
}

PJRT_Client* client() {
  static PJRT_Client* const made = [] {
    ::setenv("SYSTOLE_PJRT_OPTIONS", "backend=reference,cores=2",
             1);  // NOLINT(concurrency-mt-unsafe)
    PJRT_Client_Create_Args args{};
    args.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
    if (GetPjrtApi()->PJRT_Client_Create(&args) != nullptr) std::abort();
    return args.client;
  }();
  return made;
}

void load(std::string_view bytes) {
  PJRT_Executable_DeserializeAndLoad_Args args{};
  args.struct_size = PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE;
  args.client = client();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  PJRT_Error* const error = GetPjrtApi()->PJRT_Executable_DeserializeAndLoad(&args);
  destroy(error);
  if (error == nullptr) destroy(args.loaded_executable);
}

void compile(std::string_view options, std::string_view code) {
  constexpr std::string_view kFormat = "mlir";
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = const_cast<char*>(code.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  program.code_size = code.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  PJRT_Client_Compile_Args args{};
  args.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE;
  args.client = client();
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  PJRT_Error* const error = GetPjrtApi()->PJRT_Client_Compile(&args);
  destroy(error);
  if (error == nullptr) destroy(args.executable);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes = fuzz::text_of(data, size);
  load(bytes);
  load(runtime::seal("systole-pjrt-2", bytes));
  const std::string_view options = fuzz::take_item(bytes);
  compile(options, bytes);
  load(runtime::seal("systole-pjrt-2", fmt::format("4 {} {}\nmlir{}{}", options.size(),
                                                   bytes.size(), options, bytes)));
  return 0;
}
