#include "systole/worker/protocol/grpc_status.h"

#include <string>

namespace systole::worker {
namespace {

// gRPC sends the text in a header, which has less room than a message.
constexpr size_t kMaxStatusBytes = 4096;

}  // namespace

grpc::Status to_status(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code()), error.message().substr(0, kMaxStatusBytes)};
}

grpc::Status internal_status(std::string_view what) {
  return {grpc::StatusCode::INTERNAL,
          fmt::format("worker: internal error: {}", what.substr(0, 200))};
}

Error from_status(const grpc::Status& status, std::string_view what) {
  const auto code = static_cast<int>(status.error_code());
  const bool known =
      code >= static_cast<int>(Code::cancelled) && code <= static_cast<int>(Code::unauthenticated);
  return make_error(known ? static_cast<Code>(code) : Code::unknown, "{}: {}", what,
                    status.error_message());
}

}  // namespace systole::worker
