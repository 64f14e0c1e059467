// Messages between processes of this machine, over a connected stream socket.
#pragma once

#include <google/protobuf/message_lite.h>

#include <array>

namespace systole::worker {

// A pair of connected sockets that programs which are started do not inherit. Errors:
// RESOURCE_EXHAUSTED.
std::array<int, 2> make_socket_pair(int type);

// Sends a message, whole. Returns false if the other side is gone.
bool send_message(int socket, const google::protobuf::MessageLite& message);
// Receives one. Returns false if the other side is gone, or does not send a message within the
// socket's time limit.
bool receive_message(int socket, google::protobuf::MessageLite& message);

}  // namespace systole::worker
