// The sockets that a worker listens on.
#pragma once

#include <string>
#include <vector>

namespace systole::worker {

// What may arrive on a connection before it is accepted, and from a stranger at a time.
inline constexpr int kSmallBuffer = 4096;
// SO_BUF_LOCK (Linux 5.14): whether the size of a socket's buffers is fixed.
inline constexpr int kBufferLock = 72;

// Listens from construction to destruction.
class Listener {
 public:
  // `address` is "host:port" or "[ipv6]:port"; port 0 chooses a free one. A name that has several
  // addresses, such as localhost, is listened to at each. "[::]" takes IPv4 connections, too.
  // Errors: UNAVAILABLE for an address that is in use, or not this machine's.
  explicit Listener(const std::string& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Sockets that do not block.
  const std::vector<int>& sockets() const { return sockets_; }
  int port() const { return port_; }

 private:
  std::vector<int> sockets_;
  int port_ = 0;
};

}  // namespace systole::worker
