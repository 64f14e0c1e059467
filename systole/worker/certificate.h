// Certificates and keys in PEM format.
#pragma once

#include <string>

namespace systole::worker {

// Errors: INVALID_ARGUMENT, with the names of the files, for texts without certificate or key, and
// for a key of another certificate.
void check_key_pair(const std::string& certificate, const std::string& key,
                    const std::string& certificate_name, const std::string& key_name);
// Errors: INVALID_ARGUMENT for a text without certificate.
void check_certificates(const std::string& text, const std::string& name);

}  // namespace systole::worker
