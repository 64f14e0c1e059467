// Channels to a worker.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <string_view>

#include "systole/base/error.h"

namespace systole::worker {

// Who the client is, and whom it trusts. Files are PEM.
struct Credentials {
  std::string token;
  std::string ca;           // the authority of the worker's certificate; "": no TLS
  std::string certificate;  // the client's own; "": none
  std::string key;
};

// Errors: INVALID_ARGUMENT, with `source` and without the token, for characters that a header
// cannot have: others than visible ASCII.
void check_token_text(std::string_view token, std::string_view source);

// Returns `given` with the values of SYSTOLE_WORKER_TOKEN (or the first line of the file
// SYSTOLE_WORKER_TOKEN_FILE), _CA, _CERTIFICATE and _KEY where it has none. Errors: NOT_FOUND for a
// token file that has none; those of check_token_text().
Credentials with_environment(Credentials given);

// Names this process for a worker's logs: "host:pid".
std::string client_name();

// A channel with a connection of its own. Errors: INVALID_ARGUMENT for an address that other
// machines have, without TLS, and for a token that no header can have; NOT_FOUND for files that do
// not exist.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                            const Credentials& credentials);

// Ends an error of a client without TLS to which nobody answers.
inline constexpr std::string_view kTlsHint =
    "; for a worker with a certificate, set SYSTOLE_WORKER_CA to the file of its authority";

// Returns the error of a call that reached no session: that of the status, after `what`, and
// kTlsHint if the worker may want TLS.
Error call_error(const grpc::Status& status, std::string_view what, const Credentials& credentials);

// Adds the token, and a deadline unless `seconds` is 0.
void prepare(grpc::ClientContext& context, const Credentials& credentials, double seconds);

}  // namespace systole::worker
