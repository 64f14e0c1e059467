#include "systole/worker/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <vector>

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

// The certificates of a text, in its order; one or more.
std::vector<Certificate> read_certificates(const std::string& text, const std::string& name) {
  std::vector<Certificate> all;
  const Bio bio = reader(text);
  while (X509* const next = ::PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)) {
    all.emplace_back(next, &::X509_free);
  }
  ::ERR_clear_error();
  if (all.empty()) {
    const bool request = text.find("CERTIFICATE REQUEST-----") != std::string::npos;
    throw invalid_argument(
        "worker: certificate, got '{}', which has none in PEM format{}", name,
        request ? ", only a request for one, which an authority has yet to sign" : "");
  }
  return all;
}

// Whether the authority has signed the certificate.
bool has_signed(X509& authority, X509& certificate) {
  const bool signed_by = ::X509_check_issued(&authority, &certificate) == X509_V_OK &&
                         ::X509_verify(&certificate, ::X509_get0_pubkey(&authority)) == 1;
  ::ERR_clear_error();
  return signed_by;
}

void check_dates(const X509& certificate, const std::string& name) {
  if (::X509_cmp_current_time(::X509_get0_notAfter(&certificate)) < 0) {
    throw invalid_argument("worker: certificate, got '{}', whose time is over", name);
  }
  if (::X509_cmp_current_time(::X509_get0_notBefore(&certificate)) > 0) {
    throw invalid_argument("worker: certificate, got '{}', whose time has not begun", name);
  }
}

}  // namespace

void check_key_pair(const std::string& certificate, const std::string& key,
                    const std::string& certificate_name, const std::string& key_name) {
  const std::vector<Certificate> chain = read_certificates(certificate, certificate_name);
  const Certificate& parsed = chain.front();
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
  for (size_t i = 0; i < chain.size(); ++i) {
    check_dates(*chain[i], certificate_name);
    if (i + 1 == chain.size()) break;
    if (!has_signed(*chain[i + 1], *chain[i])) {
      throw invalid_argument(
          "worker: certificate, got '{}', whose certificate {} is not that of the authority of "
          "certificate {}, expected the worker's own first, each before its authority's",
          certificate_name, i + 2, i + 1);
    }
  }
}

void check_authorities(const std::string& text, const std::string& name) {
  for (const Certificate& certificate : read_certificates(text, name)) {
    if (!has_signed(*certificate, *certificate) && ::X509_check_ca(certificate.get()) == 0) {
      throw invalid_argument(
          "worker: authority of clients, got '{}', which has a certificate that may sign none",
          name);
    }
  }
}

}  // namespace systole::worker
