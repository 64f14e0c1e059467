#include "systole/worker/server/server_credentials.h"

#include <grpc/grpc_security.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/io/wire/openssl.h"
#include "systole/worker/certificate.h"
#include "systole/worker/protocol/address.h"
#include "systole/worker/protocol/credential_file.h"

namespace systole::worker {
namespace {

// Off loopback anybody may guess.
constexpr size_t kMinTokenBytes = 16;

struct Pem {
  std::string certificate;
  std::string key;
  std::string client_ca;
  bool operator==(const Pem&) const = default;
};

// Reads and checks the files.
Pem read_pem(const WorkerTls& tls) {
  Pem pem{.certificate = read_credential_file("certificate", tls.certificate),
          .key = read_credential_file("key", tls.key)};
  if (!tls.client_ca.empty())
    pem.client_ca = read_credential_file("authority of clients", tls.client_ca);
  check_key_pair(pem.certificate, pem.key, tls.certificate, tls.key);
  if (!tls.client_ca.empty()) check_authorities(pem.client_ca, tls.client_ca);
  return pem;
}

// Certificates of files that may change. When the new ones cannot be used, the old ones stay.
class TlsCredentials final : public grpc::ServerCredentials {
 public:
  explicit TlsCredentials(const WorkerTls& tls) : tls_(tls), pem_(read_pem(tls)) {
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            tls.client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                  : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
            fetch, this));
  }
  ~TlsCredentials() override { grpc_server_credentials_release(credentials_); }
  TlsCredentials(const TlsCredentials&) = delete;
  TlsCredentials& operator=(const TlsCredentials&) = delete;

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  using Clock = std::chrono::steady_clock;

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  // gRPC calls it at its start and before each handshake.
  static grpc_ssl_certificate_config_reload_status fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<TlsCredentials*>(self)->give(config);
  }
  grpc_ssl_certificate_config_reload_status give(grpc_ssl_server_certificate_config** config) {
    const MutexLock lock(mutex_);
    const auto now = Clock::now();
    if (given_) {
      if (now - looked_ < std::chrono::seconds(tls_.reload_seconds) || !reload()) {
        return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
      }
    }
    looked_ = now;
    given_ = true;
    const grpc_ssl_pem_key_cert_pair pair{pem_.key.c_str(), pem_.certificate.c_str()};
    // gRPC demands an authority, also where no client is asked for a certificate.
    const std::string& authority = pem_.client_ca.empty() ? pem_.certificate : pem_.client_ca;
    *config = grpc_ssl_server_certificate_config_create(authority.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }
  // Reads the files. Returns whether they have changed and can be used.
  bool reload() SYSTOLE_REQUIRES(mutex_) {
    looked_ = Clock::now();
    try {
      Pem pem = read_pem(tls_);
      warned_.clear();
      if (pem == pem_) return false;
      pem_ = std::move(pem);
      return true;
    } catch (const Error& error) {
      // Once: also while certificate and key are replaced one after the other.
      if (warned_ != error.message()) {
        log_warning("{}; the certificate in use stays", error.message());
      }
      warned_ = error.message();
      return false;
    }
  }

  const WorkerTls tls_;
  grpc_server_credentials* credentials_ = nullptr;
  Mutex mutex_;
  Pem pem_ SYSTOLE_GUARDED_BY(mutex_);
  bool given_ SYSTOLE_GUARDED_BY(mutex_) = false;
  Clock::time_point looked_ SYSTOLE_GUARDED_BY(mutex_);
  std::string warned_ SYSTOLE_GUARDED_BY(mutex_);  // the last warning
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> make_credentials(const WorkerOptions& options) {
  const WorkerTls& tls = options.tls;
  const bool loopback = is_loopback(options.listen);
  if (tls.certificate.empty() != tls.key.empty()) {
    throw invalid_argument("worker: TLS, got a certificate or a key, expected both or neither");
  }
  if (tls.certificate.empty()) {
    if (!tls.client_ca.empty()) {
      throw invalid_argument(
          "worker: TLS, got an authority of clients, expected a certificate too");
    }
    if (!loopback) {
      throw invalid_argument(
          "worker: address, got '{}', which other machines can reach, expected a loopback address, "
          "or a certificate, a key and a token",
          options.listen);
    }
    return grpc::InsecureServerCredentials();
  }
  if (!loopback && options.token.empty()) {
    throw invalid_argument("worker: token, got none, expected one to listen at '{}'",
                           options.listen);
  }
  crypto::init_openssl();
  auto credentials = std::make_shared<TlsCredentials>(tls);
  if (!loopback && options.token.size() < kMinTokenBytes) {
    throw invalid_argument(
        "worker: token, got {} characters, expected at least {} to listen at '{}'",
        options.token.size(), kMinTokenBytes, options.listen);
  }
  return credentials;
}

}  // namespace systole::worker
