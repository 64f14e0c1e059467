// The backend "cpu": compiles programs for this machine.
#pragma once

#include <memory>

#include "systole/runtime/client.h"

namespace systole::runtime {
// Makes the backend known as "cpu". Called once, by the generated register_backends().
void register_cpu_backend();
}  // namespace systole::runtime

namespace systole::cpu {

// A client with one device, this machine. Thread-safe.
std::unique_ptr<runtime::Client> make_client();

}  // namespace systole::cpu
