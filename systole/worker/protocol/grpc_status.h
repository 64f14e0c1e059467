// Errors of this code as gRPC's, and back. The codes are the same.
#pragma once

#include <grpcpp/support/status.h>

#include <new>
#include <string_view>

#include "systole/base/error.h"

namespace systole::worker {

grpc::Status to_status(const Error& error);
// `what` begins the message: "worker 127.0.0.1:8470: Hello". REQUIRES: not OK.
Error from_status(const grpc::Status& status, std::string_view what);

// Runs the body of an RPC and returns its error.
template <class F>
grpc::Status status_of(F&& body) {
  try {
    body();
    return grpc::Status::OK;
  } catch (const Error& error) {
    return to_status(error);
  } catch (const std::bad_alloc&) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "worker: memory, got none left"};
  }
}

}  // namespace systole::worker
