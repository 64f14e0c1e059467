// Asks a worker how it is.
#pragma once

#include <string>

namespace systole::worker {

// Returns a text of several lines: the devices, the memory, the sessions. Credentials are those of
// the environment. Errors: INVALID_ARGUMENT for an address that is none, and for one beyond this
// machine without TLS; UNAVAILABLE if nobody answers; UNAUTHENTICATED.
std::string worker_status(const std::string& address);
// Returns the same as JSON: the message StatusReply of worker.proto with its names of fields.
// Errors: those of worker_status().
std::string worker_status_json(const std::string& address);

}  // namespace systole::worker
