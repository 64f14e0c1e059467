// OpenSSL in a process whose connections live until its end.
#pragma once

namespace systole::crypto {

// Keeps OpenSSL usable until the process has ended. By default exit() frees OpenSSL's tables, while
// threads of clients that live as long as the process may still make TLS connections. Has an effect
// only before OpenSSL's first use: call it before one, be it by libcurl or gRPC. Thread-safe.
void init_openssl();

}  // namespace systole::crypto
