#include "systole/worker/socket_messages.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "systole/base/error.h"

namespace systole::worker {
namespace {

// Larger than any message of the worker's protocol.
constexpr uint32_t kMaxBytes = uint32_t{256} << 20;

bool send_all(int socket, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t received = ::recv(socket, data, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    data += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

}  // namespace

std::array<int, 2> make_socket_pair(int type) {
  std::array<int, 2> sockets = {-1, -1};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw make_error(Code::resource_exhausted, "worker: sockets for a process, got '{}'",
                     std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  }
  return sockets;
}

bool send_message(int socket, const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  if (size > kMaxBytes) return false;
  std::string bytes(sizeof(uint32_t), '\0');
  const auto length = static_cast<uint32_t>(size);
  std::memcpy(bytes.data(), &length, sizeof length);
  return message.AppendToString(&bytes) && send_all(socket, bytes.data(), bytes.size());
}

bool receive_message(int socket, google::protobuf::MessageLite& message) {
  uint32_t length = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&length), sizeof length)) return false;
  if (length > kMaxBytes) return false;
  std::string bytes(length, '\0');
  return receive_all(socket, bytes.data(), length) && message.ParseFromString(bytes);
}

}  // namespace systole::worker
