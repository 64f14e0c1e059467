// Who may talk to a worker.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "systole/worker/worker_options.h"

namespace systole::worker {

// The files of certificates are read again when they change; if the new ones do not fit each other,
// those in use stay. Must outlive the server. Errors: INVALID_ARGUMENT for an address beyond this
// machine without TLS and a token of 16 characters, for a certificate without key, and for files
// that are no certificates or do not fit each other; NOT_FOUND for files that do not exist.
std::shared_ptr<grpc::ServerCredentials> make_credentials(const WorkerOptions& options);

}  // namespace systole::worker
