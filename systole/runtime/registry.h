// Backends by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/runtime/client.h"

namespace systole::runtime {

using ClientFactory = std::function<std::unique_ptr<Client>()>;

// Called by each backend's register function, which the build collects into register_backends().
// Errors: ALREADY_EXISTS.
void register_backend(std::string name, ClientFactory factory);

// The backend's client, created at first use and shared by the whole process; lives until exit.
// Errors: NOT_FOUND lists the names there are. Thread-safe.
Client& client(std::string_view name);

// Sorted.
std::vector<std::string> backend_names();

// Defined by the build from the list of backends it has; called once, by the first of the calls
// above.
void register_backends();

}  // namespace systole::runtime
