// Backends by name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"

namespace systole::runtime {

// A way to reach devices. `make` gets a value for each of `options` and no others; it may take long
// and fail (a plugin that is not there, an address that does not answer).
struct Backend {
  std::string name;
  std::vector<OptionDef> options;
  // The option that the text after the colon of "name:text" sets; "": names have no such text.
  std::string address_option = {};
  std::function<std::unique_ptr<Client>(const ClientOptions&)> make;
};

// Called by each backend's register function, which the build collects into register_backends().
// Errors: ALREADY_EXISTS.
void register_backend(Backend backend);

// The backend's client under these options, created at first use, shared by all who ask for the
// same name and values; lives until exit. `name` is "cpu", or "pjrt:libtpu.so" for a backend with
// an address_option. Errors: NOT_FOUND lists the backends; those of resolve_options(); those of
// making the client, which the next call tries again. Thread-safe.
Client& client(std::string_view name, const ClientOptions& options = {});

// The options that a backend takes. Errors: NOT_FOUND. Valid until exit.
std::span<const OptionDef> backend_options(std::string_view name);

// Sorted.
std::vector<std::string> backend_names();

// Defined by the build from the list of its backends; called once, by the first of the calls above.
void register_backends();

}  // namespace systole::runtime
