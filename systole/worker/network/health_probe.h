// A call that a server makes to itself.
#pragma once

namespace systole::worker {

// Calls the health service over a connection without TLS. Takes the socket, which must not block.
// Returns whether an answer came within `seconds`.
bool answers_health(int socket, double seconds);

}  // namespace systole::worker
