// Files of tokens, keys and certificates.
#pragma once

#include <string>

namespace systole::worker {

// Returns the bytes of a local file of at most 1 MiB. `what` names it in errors: "worker: <what>,
// got '<path>', ...". Errors: NOT_FOUND; those of open_file() for anything but a regular file,
// which is not waited for; DATA_LOSS for a larger one. Thread-safe.
std::string read_credential_file(const std::string& what, const std::string& path);

// Returns the first line of such a file. Errors: also NOT_FOUND if it is empty.
std::string read_token_file(const std::string& what, const std::string& path);

}  // namespace systole::worker
