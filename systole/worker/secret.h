// Secrets that clients show.
#pragma once

#include <string_view>

namespace systole::worker {

// Whether a text from a client is the secret. Takes a time that tells nothing of where they differ.
bool is_secret(std::string_view text, std::string_view secret);

}  // namespace systole::worker
