// Errors of this code as gRPC's, and back. The codes are the same.
#pragma once

#include <grpcpp/support/status.h>

#include <exception>
#include <new>
#include <string_view>

#include "systole/base/error.h"

namespace systole::worker {

grpc::Status to_status(const Error& error);
// The status of an exception that no code of this project throws.
grpc::Status internal_status(std::string_view what);
// `what` begins the message: "worker 127.0.0.1:8470: Hello". REQUIRES: not OK.
Error from_status(const grpc::Status& status, std::string_view what);

// Runs the body of an RPC and returns its error. An exception of any kind is the error of this call
// alone.
template <class F>
grpc::Status status_of(F&& body) {
  try {
    body();
    return grpc::Status::OK;
  } catch (const Error& error) {
    return to_status(error);
  } catch (const std::bad_alloc&) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "worker: memory, got none left"};
  } catch (const std::exception& error) {
    return internal_status(error.what());
  } catch (...) {
    return internal_status("an exception of an unknown kind");
  }
}

}  // namespace systole::worker
