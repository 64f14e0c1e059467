#include "systole/worker/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "systole/base/error.h"

namespace systole::worker {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&::BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&::X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;

Bio reader(const std::string& text) {
  return {::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &::BIO_free};
}

// Instead of asking at the terminal.
int no_password(char*, int, int, void*) { return 0; }

Certificate first_certificate(const std::string& text, const std::string& name) {
  const Bio bio = reader(text);
  Certificate certificate(::PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr),
                          &::X509_free);
  ::ERR_clear_error();
  if (certificate == nullptr) {
    throw invalid_argument("worker: certificate, got '{}', which has none in PEM format", name);
  }
  return certificate;
}

}  // namespace

void check_key_pair(const std::string& certificate, const std::string& key,
                    const std::string& certificate_name, const std::string& key_name) {
  const Certificate parsed = first_certificate(certificate, certificate_name);
  const Bio bio = reader(key);
  const Key parsed_key(::PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr),
                       &::EVP_PKEY_free);
  const bool fits =
      parsed_key != nullptr && ::X509_check_private_key(parsed.get(), parsed_key.get()) == 1;
  ::ERR_clear_error();
  if (parsed_key == nullptr) {
    throw invalid_argument("worker: key, got '{}', which has none in PEM format without password",
                           key_name);
  }
  if (!fits) {
    throw invalid_argument("worker: key, got '{}', which is not the key of the certificate '{}'",
                           key_name, certificate_name);
  }
}

void check_certificates(const std::string& text, const std::string& name) {
  static_cast<void>(first_certificate(text, name));
}

}  // namespace systole::worker
