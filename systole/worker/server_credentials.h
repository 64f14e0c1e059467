// Who may talk to a worker.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "systole/worker/worker_options.h"

namespace systole::worker {

// Errors: INVALID_ARGUMENT for an address beyond this machine without TLS and token, and for a
// certificate without key; NOT_FOUND for files that do not exist.
std::shared_ptr<grpc::ServerCredentials> make_credentials(const WorkerOptions& options);

}  // namespace systole::worker
