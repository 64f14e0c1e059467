#include "systole/worker/server_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <filesystem>

#include "systole/base/error.h"
#include "systole/io/http/openssl.h"
#include "systole/worker/protocol/address.h"

namespace systole::worker {
namespace {

void check_file(const std::string& what, const std::string& path) {
  if (std::filesystem::exists(path)) return;
  throw not_found("worker: {}, got '{}', which does not exist", what, path);
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> make_credentials(const WorkerOptions& options) {
  const WorkerTls& tls = options.tls;
  if (tls.certificate.empty() != tls.key.empty()) {
    throw invalid_argument("worker: TLS, got a certificate or a key, expected both or neither");
  }
  if (tls.certificate.empty()) {
    if (!tls.client_ca.empty()) {
      throw invalid_argument(
          "worker: TLS, got an authority of clients, expected a certificate too");
    }
    if (!is_loopback(options.listen)) {
      throw invalid_argument(
          "worker: address, got '{}', which other machines can reach, expected a loopback address, "
          "or a certificate, a key and a token",
          options.listen);
    }
    return grpc::InsecureServerCredentials();
  }
  if (!is_loopback(options.listen) && options.token.empty()) {
    throw invalid_argument("worker: token, got none, expected one to listen at '{}'",
                           options.listen);
  }
  check_file("certificate", tls.certificate);
  check_file("key", tls.key);
  if (!tls.client_ca.empty()) check_file("authority of clients", tls.client_ca);
  http::init_openssl();
  grpc::experimental::TlsServerCredentialsOptions credentials(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls.key, tls.certificate, tls.client_ca, tls.reload_seconds));
  credentials.watch_identity_key_cert_pairs();
  if (!tls.client_ca.empty()) {
    credentials.watch_root_certs();
    credentials.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(credentials);
}

}  // namespace systole::worker
