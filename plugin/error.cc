#include "plugin/error.h"

#include <new>
#include <string>
#include <system_error>

#include "plugin/functions.h"

namespace systole::plugin {
namespace {

struct PluginError : PJRT_Error {
  Code code;
  std::string message;
};

// An error that needs no memory, for when there is none. It is never destroyed.
PluginError& out_of_memory();

void destroy(PJRT_Error* error) {
  if (error != &out_of_memory()) delete static_cast<PluginError*>(error);
}

const PluginError& of(const PJRT_Error* error) { return *static_cast<const PluginError*>(error); }

PJRT_Error_Code code_of(const PJRT_Error* error) {
  return static_cast<PJRT_Error_Code>(of(error).code);
}

// Functions that callers since 0.112 find in the error itself.
constexpr PJRT_Error_FunctionTable kFunctions = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = sizeof(PluginError),
    .extension_start = nullptr,
    .destroy = destroy,
    .message =
        [](const PJRT_Error* error, const char** message, size_t* message_size) {
          *message = of(error).message.c_str();
          *message_size = of(error).message.size();
        },
    .get_code = code_of,
    .for_each_payload = [](const PJRT_Error*, PJRT_Error_PayloadVisitor, void*) {},
};

PluginError new_error(Code code, std::string_view message) {
  PluginError error;
  error.vtable = &kFunctions;
  error.code = code;
  error.message = message;
  return error;
}

PluginError& out_of_memory() {
  // Made when the library is loaded, see below, and not destroyed at exit.
  static PluginError& error =
      *new PluginError(new_error(Code::resource_exhausted, "systole: out of memory on the host"));
  return error;
}

[[maybe_unused]] const PluginError& kMadeEarly = out_of_memory();

PJRT_Error* make_pjrt(Code code, std::string_view message) noexcept {
  try {
    return new PluginError(new_error(code, message));
  } catch (...) {
    return &out_of_memory();
  }
}

}  // namespace

PJRT_Error* to_pjrt(const Error& error) noexcept {
  return make_pjrt(error.code(), error.message());
}

PJRT_Error* current_error() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return to_pjrt(error);
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  } catch (const std::system_error& error) {
    // A thread, most often, that the system does not start.
    return make_pjrt(Code::resource_exhausted, error.what());
  } catch (const std::exception& error) {
    return make_pjrt(Code::internal, error.what());
  } catch (...) {
    return make_pjrt(Code::internal, "systole: an unknown exception");
  }
}

void check_struct(std::string_view function, const void* args, size_t smallest) {
  if (args == nullptr) throw invalid_argument("{}: args, got NULL", function);
  size_t size = 0;
  std::memcpy(&size, args, sizeof(size));
  if (size >= smallest) return;
  throw invalid_argument("{}: struct_size, got {}, expected at least {}", function, size, smallest);
}

void error_destroy(PJRT_Error_Destroy_Args* args) {
  if (args != nullptr) destroy(args->error);
}

void error_message(PJRT_Error_Message_Args* args) {
  if (args == nullptr || args->error == nullptr) return;
  kFunctions.message(args->error, &args->message, &args->message_size);
}

PJRT_Error* error_get_code(PJRT_Error_GetCode_Args* args) {
  return run("PJRT_Error_GetCode", args,
             [](PJRT_Error_GetCode_Args& a) { a.code = code_of(a.error); });
}

PJRT_Error* error_for_each_payload(PJRT_Error_ForEachPayload_Args* args) {
  return run("PJRT_Error_ForEachPayload", args, [](PJRT_Error_ForEachPayload_Args&) {});
}

}  // namespace systole::plugin
