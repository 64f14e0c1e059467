// The sockets that a worker listens on.
#pragma once

#include <string>
#include <vector>

namespace systole::worker {

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
