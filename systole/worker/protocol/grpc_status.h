// Errors of this code as gRPC's, and back. The codes are the same.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "systole/base/error.h"

namespace systole::worker {

grpc::Status to_status(const Error& error);
// `what` begins the message: "worker 127.0.0.1:8470: Hello". REQUIRES: not OK.
Error from_status(const grpc::Status& status, std::string_view what);

}  // namespace systole::worker
