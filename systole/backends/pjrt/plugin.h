// A PJRT plugin in this process: its library, its table of functions, and their errors.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "systole/base/error.h"
#include "systole/pjrt_abi/struct_size.h"
#include "systole/runtime/event.h"

namespace systole::pjrt {

// Returns the library that a plugin is named by: a path; a name in PJRT_NAMES_AND_LIBRARY_PATHS
// ("name:path,name:path"); "tpu", the library that TPU_LIBRARY_PATH names; "systole", the library
// that is built with this program; "", the value of SYSTOLE_PJRT_PLUGIN. Errors: NOT_FOUND with the
// names that are known.
std::string find_plugin(std::string_view name);

// Thread-safe. Libraries are never unloaded: their threads and memory may outlive every client.
class Plugin {
 public:
  // Loads and initialises the library. Errors: NOT_FOUND if there is no such file;
  // FAILED_PRECONDITION for a file that is no library of this machine's architecture, a library
  // that is no plugin, and for another major version of the API; the plugin's own.
  static std::shared_ptr<const Plugin> load(const std::string& path);

  const std::string& path() const { return path_; }
  // "0.112"
  std::string version() const;
  const PJRT_Api& api() const { return *api_; }

  // Whether the plugin's version of the API has a function.
  template <class R, class Args>
  bool has(R (*PJRT_Api::*function)(Args*)) const {
    const auto* const slot = reinterpret_cast<const char*>(&(api_->*function));
    const auto offset = static_cast<size_t>(slot - reinterpret_cast<const char*>(api_));
    return offset + sizeof(void*) <= api_->struct_size && api_->*function != nullptr;
  }

  // Calls a function. Errors: the plugin's, with the function's name; UNIMPLEMENTED for a function
  // that the plugin does not have.
  template <class Args>
  void call(PJRT_Error* (*PJRT_Api::*function)(Args*), std::string_view name, Args& args) const {
    if (!has(function)) throw absent(name);
    if (PJRT_Error* const error = (api_->*function)(&args)) throw take_error(error, name);
  }
  // The same for calls in destructors, whose errors are logged.
  template <class Args>
  void call_quietly(PJRT_Error* (*PJRT_Api::*function)(Args*), std::string_view name,
                    Args& args) const noexcept {
    try {
      call(function, name, args);
    } catch (const std::exception& error) {
      log_failure(error.what());
    }
  }

  // Converts an error and destroys it.
  Error take_error(PJRT_Error* error, std::string_view function) const;
  // Converts an event and destroys it. The event may outlive the plugin's.
  runtime::Event take_event(PJRT_Event* event, std::string_view function) const;

 private:
  Plugin(std::string path, const PJRT_Api* api) : path_(std::move(path)), api_(api) {}
  Error absent(std::string_view function) const;
  static void log_failure(std::string_view message) noexcept;
  static void check_api(const std::string& path, const PJRT_Api* api);
  runtime::Event finished(PJRT_Event* event, std::string_view function) const;
  void destroy_event(PJRT_Event* event) const;

  std::string path_;
  const PJRT_Api* api_;
};

}  // namespace systole::pjrt
