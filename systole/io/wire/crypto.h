// Hashes and signatures (OpenSSL) and base64, for the protocols of object stores.
#pragma once

#include <string>
#include <string_view>

namespace systole::crypto {

// Raw digests: 32 and 16 bytes.
std::string sha256(std::string_view bytes);
std::string md5(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);
// Signs with RSASSA-PKCS1-v1_5 and SHA-256 (RS256). `pem` is a private key in PKCS #8 or PKCS #1.
// Errors: INVALID_ARGUMENT for another text; the error does not show the key.
std::string rsa_sha256_signature(const std::string& pem, std::string_view bytes);

std::string hex_text(std::string_view bytes);  // in lower case
std::string base64(std::string_view bytes);
// Without padding, '-' and '_' for '+' and '/' (RFC 4648, section 5).
std::string base64_url(std::string_view bytes);
// Skips padding and what is no digit.
std::string base64_decoded(std::string_view text);

}  // namespace systole::crypto
