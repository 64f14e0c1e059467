// The backend "reference" runs programs op by op with hlo::Evaluator. Slow and readable; other
// backends are tested against it.
#pragma once

#include <memory>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"

namespace systole::runtime {
// Registers the backend as "reference". Called once, by the generated register_backends().
void register_reference_backend();
}  // namespace systole::runtime

namespace systole::reference {

// Returns a client whose devices are this machine; see runtime::host_client_options(). Thread-safe.
std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options = {});

}  // namespace systole::reference
