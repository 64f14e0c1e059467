#include "systole/io/wire/openssl.h"

#include <openssl/crypto.h>

namespace systole::crypto {

void init_openssl() { ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace systole::crypto
