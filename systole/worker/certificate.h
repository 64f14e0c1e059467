// Certificates and keys in PEM format.
#pragma once

#include <string>

namespace systole::worker {

// Checks a worker's certificate, which its authorities' may follow. Errors: INVALID_ARGUMENT, with
// the names of the files, for texts without certificate or key, a key of another certificate, a
// certificate whose time is over or has not begun, and one that the next one has not signed.
void check_key_pair(const std::string& certificate, const std::string& key,
                    const std::string& certificate_name, const std::string& key_name);
// Checks the certificates of authorities. Errors: INVALID_ARGUMENT for a text without certificate,
// and for a certificate that may not sign others.
void check_authorities(const std::string& text, const std::string& name);

}  // namespace systole::worker
