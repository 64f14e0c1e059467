#include "systole/io/http/openssl.h"

#include <openssl/crypto.h>

namespace systole::http {

void init_openssl() { ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace systole::http
