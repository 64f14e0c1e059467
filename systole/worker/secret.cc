#include "systole/worker/secret.h"

#include <openssl/crypto.h>

namespace systole::worker {

bool is_secret(std::string_view text, std::string_view secret) {
  return text.size() == secret.size() &&
         CRYPTO_memcmp(text.data(), secret.data(), secret.size()) == 0;
}

}  // namespace systole::worker
