// The backend "reference": every program by hlo::Evaluator, op by op. Slow, readable, what the
// others are tested against.
#pragma once

#include <memory>

#include "systole/runtime/client.h"
#include "systole/runtime/client_options.h"

namespace systole::runtime {
// Makes the backend known as "reference". Called once, by the generated register_backends().
void register_reference_backend();
}  // namespace systole::runtime

namespace systole::reference {

// A client whose devices are this machine; see runtime::host_client_options(). Thread-safe.
std::unique_ptr<runtime::Client> make_client(const runtime::ClientOptions& options = {});

}  // namespace systole::reference
