#include "systole/worker/protocol/channel.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/io/wire/openssl.h"
#include "systole/worker/protocol/address.h"
#include "systole/worker/protocol/convert.h"
#include "systole/worker/protocol/credential_file.h"
#include "systole/worker/protocol/grpc_status.h"

namespace systole::worker {
namespace {

constexpr int kKeepaliveMs = 10'000;

std::string read_pem(const char* what, const std::string& path) {
  return path.empty() ? "" : read_credential_file(what, path);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const std::string& address,
                                                              const Credentials& credentials) {
  if (credentials.ca.empty()) {
    if (!is_loopback(address)) {
      throw invalid_argument(
          "worker {}: TLS, got no authority (SYSTOLE_WORKER_CA), expected one for a worker on "
          "another machine",
          address);
    }
    return grpc::InsecureChannelCredentials();
  }
  crypto::init_openssl();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read_pem("authority", credentials.ca);
  options.pem_cert_chain = read_pem("certificate", credentials.certificate);
  options.pem_private_key = read_pem("key", credentials.key);
  return grpc::SslCredentials(options);
}

std::string token_of_environment() {
  const std::string path = environment_value("SYSTOLE_WORKER_TOKEN_FILE");
  std::string token = environment_value("SYSTOLE_WORKER_TOKEN");
  check_token_text(token, "SYSTOLE_WORKER_TOKEN");
  if (!token.empty() || path.empty()) return token;
  token = read_token_file("SYSTOLE_WORKER_TOKEN_FILE", path);
  check_token_text(token, fmt::format("SYSTOLE_WORKER_TOKEN_FILE '{}'", path));
  return token;
}

}  // namespace

void check_token_text(std::string_view token, std::string_view source) {
  if (std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; })) return;
  const bool carriage_return = token.ends_with('\r');
  throw invalid_argument("worker: token of {}, got {}, expected visible ASCII characters", source,
                         carriage_return ? "a carriage return at its end (a file of Windows?)"
                                         : "a blank, a control character or another character");
}

Credentials with_environment(Credentials given) {
  if (given.token.empty()) given.token = token_of_environment();
  if (given.ca.empty()) given.ca = environment_value("SYSTOLE_WORKER_CA");
  if (given.certificate.empty())
    given.certificate = environment_value("SYSTOLE_WORKER_CERTIFICATE");
  if (given.key.empty()) given.key = environment_value("SYSTOLE_WORKER_KEY");
  return given;
}

std::string client_name() { return fmt::format("{}:{}", host_name(), ::getpid()); }

std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                            const Credentials& credentials) {
  check_token_text(credentials.token, "the options");
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, channel_credentials(address, credentials), arguments);
}

Error call_error(const grpc::Status& status, std::string_view what,
                 const Credentials& credentials) {
  Error error = from_status(status, what);
  // A worker with a certificate closes the connection of a client without TLS; gRPC tells no more.
  const std::string& text = error.message();
  const bool closed = text.find("Socket closed") != std::string::npos ||
                      text.find("reset by peer") != std::string::npos;
  if (!credentials.ca.empty() || error.code() != Code::unavailable || !closed) return error;
  return Error(error.code(), text + std::string(kTlsHint));
}

void prepare(grpc::ClientContext& context, const Credentials& credentials, double seconds) {
  if (!credentials.token.empty()) {
    context.AddMetadata(kAuthorization, "Bearer " + credentials.token);
  }
  if (seconds > 0) {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::system_clock::duration>(
                             std::chrono::duration<double>(seconds)));
  }
}

}  // namespace systole::worker
