#include "systole/worker/testing/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "systole/base/mutex.h"

namespace systole::worker::testing {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

int port_of(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

int connect_to(int port) {
  const int connected = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(connected, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return connected;
  }
  ::close(connected);
  return -1;
}

Proxy::Proxy(const std::string& address) : target_port_(port_of(address)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in own = loopback(0);
  socklen_t size = sizeof own;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) std::abort();
  if (::listen(listener_, 16) != 0) std::abort();
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &size);
  address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  acceptor_ = std::thread([this] { accept_all(); });
}

Proxy::~Proxy() {
  ending_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  cut();
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) ::close(socket);
  ::close(listener_);
}

void Proxy::cut() {
  cut_ = true;
  const MutexLock lock(mutex_);
  for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
}

void Proxy::accept_all() {
  while (!ending_) {
    const int near = ::accept(listener_, nullptr, nullptr);
    if (near < 0) continue;
    const int far = cut_ || ending_ ? -1 : connect_to(target_port_);
    if (far < 0) {
      ::close(near);
      continue;
    }
    const MutexLock lock(mutex_);
    sockets_.insert(sockets_.end(), {near, far});
    threads_.emplace_back([this, near, far] { forward(near, far); });
    threads_.emplace_back([this, near, far] { forward(far, near); });
  }
}

void Proxy::forward(int from, int to) {
  std::array<char, 65536> bytes;
  while (true) {
    const ssize_t size = ::read(from, bytes.data(), bytes.size());
    if (size <= 0) break;
    for (ssize_t sent = 0; sent < size;) {
      const ssize_t more =
          ::send(to, bytes.data() + sent, static_cast<size_t>(size - sent), MSG_NOSIGNAL);
      if (more <= 0) break;
      sent += more;
    }
  }
  ::shutdown(to, SHUT_RDWR);
}

}  // namespace systole::worker::testing
