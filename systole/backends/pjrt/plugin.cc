#include "systole/backends/pjrt/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>

#include "systole/base/log.h"
#include "systole/base/mutex.h"

namespace systole::pjrt {
namespace {

Error refused(const std::string& path, std::string_view why) {
  return failed_precondition("pjrt: plugin '{}': {}", path, why);
}

const PJRT_Api* open_library(const std::string& path) {
  if (path.find('/') != std::string::npos && !std::filesystem::exists(path)) {
    throw not_found("pjrt: plugin '{}': no such file", path);
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // The message says why: "invalid ELF header", "wrong ELF class: ELFCLASS32", a missing library.
    throw refused(path, fmt::format("cannot be loaded on this machine: {}", dlerror()));
  }
  using GetApi = const PJRT_Api* (*)();
  const auto get_api = reinterpret_cast<GetApi>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    throw refused(path, "the library has no function GetPjrtApi, so it is no PJRT plugin");
  }
  return get_api();
}

}  // namespace

void Plugin::check_api(const std::string& path, const PJRT_Api* api) {
  if (api == nullptr) throw refused(path, "GetPjrtApi returned NULL");
  constexpr size_t kSmallest = offsetof(PJRT_Api, PJRT_Compile) + sizeof(void*);
  if (api->struct_size < kSmallest) {
    throw refused(path,
                  fmt::format("size of PJRT_Api, got {}, expected at least {} (of version 0.29)",
                              api->struct_size, kSmallest));
  }
  const PJRT_Api_Version& version = api->pjrt_api_version;
  if (version.struct_size < PJRT_Api_Version_STRUCT_SIZE) {
    throw refused(path,
                  fmt::format("size of PJRT_Api_Version, got {}, expected at least {}",
                              version.struct_size, static_cast<int>(PJRT_Api_Version_STRUCT_SIZE)));
  }
  if (version.major_version != PJRT_API_MAJOR) {
    throw refused(path, fmt::format("version of the PJRT API, got {}.{}, expected {}.x",
                                    version.major_version, version.minor_version,
                                    static_cast<int>(PJRT_API_MAJOR)));
  }
}

std::shared_ptr<const Plugin> Plugin::load(const std::string& path) {
  // Never destroyed: plugins stay loaded.
  static auto& mutex = *new Mutex();
  static auto& loaded = *new std::map<std::string, std::shared_ptr<const Plugin>>();
  const MutexLock lock(mutex);
  auto& plugin = loaded[path];
  if (plugin != nullptr) return plugin;
  const PJRT_Api* const api = open_library(path);
  check_api(path, api);
  const std::shared_ptr<const Plugin> made(new Plugin(path, api));
  auto args = pjrt_abi::make<PJRT_Plugin_Initialize_Args>();
  made->call(&PJRT_Api::PJRT_Plugin_Initialize, "PJRT_Plugin_Initialize", args);
  return plugin = made;
}

std::string Plugin::version() const {
  return fmt::format("{}.{}", api_->pjrt_api_version.major_version,
                     api_->pjrt_api_version.minor_version);
}

Error Plugin::absent(std::string_view function) const {
  return unimplemented("{}: plugin '{}' of PJRT {} does not have this function", function, path_,
                       version());
}

void Plugin::log_failure(std::string_view message) noexcept {
  try {
    log_warning("pjrt: {}", message);
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody to tell
  }
}

Error Plugin::take_error(PJRT_Error* error, std::string_view function) const {
  auto message = pjrt_abi::make<PJRT_Error_Message_Args>();
  message.error = error;
  api_->PJRT_Error_Message(&message);
  auto code = pjrt_abi::make<PJRT_Error_GetCode_Args>();
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  if (PJRT_Error* const second = api_->PJRT_Error_GetCode(&code)) {
    auto destroy_second = pjrt_abi::make<PJRT_Error_Destroy_Args>();
    destroy_second.error = second;
    api_->PJRT_Error_Destroy(&destroy_second);
  }
  const bool is_code =
      code.code >= PJRT_Error_Code_CANCELLED && code.code <= PJRT_Error_Code_UNAUTHENTICATED;
  const std::string_view text = message.message == nullptr
                                    ? std::string_view("no message")
                                    : std::string_view(message.message, message.message_size);
  Error result(is_code ? static_cast<Code>(code.code) : Code::unknown,
               fmt::format("{}: {}", function, text));
  auto destroy = pjrt_abi::make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api_->PJRT_Error_Destroy(&destroy);
  return result;
}

void Plugin::destroy_event(PJRT_Event* event) const {
  auto args = pjrt_abi::make<PJRT_Event_Destroy_Args>();
  args.event = event;
  call_quietly(&PJRT_Api::PJRT_Event_Destroy, "PJRT_Event_Destroy", args);
}

runtime::Event Plugin::finished(PJRT_Event* event, std::string_view function) const {
  auto args = pjrt_abi::make<PJRT_Event_Error_Args>();
  args.event = event;
  PJRT_Error* const error = api_->PJRT_Event_Error(&args);
  runtime::Event result =
      error == nullptr ? runtime::Event() : runtime::Event::failed(take_error(error, function));
  destroy_event(event);
  return result;
}

runtime::Event Plugin::take_event(PJRT_Event* event, std::string_view function) const {
  if (event == nullptr) return {};
  auto ready = pjrt_abi::make<PJRT_Event_IsReady_Args>();
  ready.event = event;
  try {
    call(&PJRT_Api::PJRT_Event_IsReady, "PJRT_Event_IsReady", ready);
  } catch (const Error&) {
    destroy_event(event);
    throw;
  }
  if (ready.is_ready) return finished(event, function);

  // Lives until the callback.
  struct Pending {
    const Plugin* plugin;  // never unloaded
    std::string function;
    PJRT_Event* event;
    runtime::Promise promise;
  };
  auto pending =
      std::make_unique<Pending>(Pending{this, std::string(function), event, runtime::Promise()});
  runtime::Event result = pending->promise.event();
  auto args = pjrt_abi::make<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = pending.get();
  args.callback = [](PJRT_Error* error, void* user_arg) {
    const std::unique_ptr<Pending> done(static_cast<Pending*>(user_arg));
    const Plugin& plugin = *done->plugin;
    if (error == nullptr) {
      done->promise.set();
    } else {
      done->promise.fail(plugin.take_error(error, done->function));
    }
    plugin.destroy_event(done->event);
  };
  try {
    call(&PJRT_Api::PJRT_Event_OnReady, "PJRT_Event_OnReady", args);
  } catch (const Error&) {
    destroy_event(event);
    throw;
  }
  static_cast<void>(pending.release());
  return result;
}

}  // namespace systole::pjrt
