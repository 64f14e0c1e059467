// The backend "remote": the devices of a worker.
#pragma once

#include <memory>
#include <span>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"

namespace systole::runtime {
// Registers the backend as "remote". Called once, by the generated register_backends().
void register_remote_backend();
}  // namespace systole::runtime

namespace systole::remote {

std::span<const runtime::OptionDef> client_options();

// Connects to the first worker of the option "address" that answers. Errors: INVALID_ARGUMENT for
// an address that is none, and for one beyond this machine without TLS; UNAVAILABLE, with the
// reason of each, if no worker answers; UNAUTHENTICATED; RESOURCE_EXHAUSTED if the worker has no
// place for a session. Thread-safe.
std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options);

}  // namespace systole::remote
