#include "systole/io/wire/crypto.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <array>
#include <memory>

#include "systole/base/error.h"
#include "systole/io/wire/openssl.h"

namespace systole::crypto {
namespace {

std::string evp_digest(const EVP_MD* type, std::string_view bytes) {
  init_openssl();
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, type, nullptr) != 1) {
    throw internal_error("digest: OpenSSL failed, expected a library with MD5 and SHA-256");
  }
  return {reinterpret_cast<const char*>(out.data()), size};
}

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string sha256(std::string_view bytes) { return evp_digest(EVP_sha256(), bytes); }
std::string md5(std::string_view bytes) { return evp_digest(EVP_md5(), bytes); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  init_openssl();
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(),
           &size) == nullptr) {
    throw internal_error("HMAC: OpenSSL failed");
  }
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string rsa_sha256_signature(const std::string& pem, std::string_view bytes) {
  init_openssl();
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) {
    throw invalid_argument("private_key: not a key, expected an RSA key in PEM format");
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t size = 0;
  std::string signature;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, data, bytes.size()) != 1) {
    throw internal_error("RS256: OpenSSL failed");
  }
  signature.resize(size);
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, data,
                     bytes.size()) != 1) {
    throw internal_error("RS256: OpenSSL failed");
  }
  signature.resize(size);
  return signature;
}

std::string hex_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string base64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t value = 0;
    for (size_t k = 0; k < 3; ++k) {
      value = (value << 8U) | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? kBase64Digits[(value >> (18 - 6 * k)) & 63U] : '=';
    }
  }
  return text;
}

std::string base64_url(std::string_view bytes) {
  std::string text = base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return text;
}

std::string base64_decoded(std::string_view text) {
  std::string bytes;
  uint32_t value = 0;
  int bits = 0;
  for (char c : text) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
    const size_t digit = kBase64Digits.find(c);
    if (digit == std::string_view::npos) continue;
    value = (value << 6U) | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((value >> static_cast<unsigned>(bits)) & 0xFFU);
    }
  }
  return bytes;
}

}  // namespace systole::crypto
