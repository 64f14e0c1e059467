// A network that can be cut.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "systole/base/mutex.h"

namespace systole::worker::testing {

// Forwards connections of a port of its own to another one of this machine.
class Proxy {
 public:
  explicit Proxy(const std::string& address);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const std::string& address() const { return address_; }
  // Cuts all connections, and refuses new ones until heal().
  void cut();
  void heal() { cut_ = false; }

 private:
  void accept_all();
  void forward(int from, int to);

  int target_port_;
  int listener_ = -1;
  std::string address_;
  std::atomic<bool> cut_ = false;
  std::atomic<bool> ending_ = false;
  Mutex mutex_;
  std::vector<int> sockets_ SYSTOLE_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ SYSTOLE_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

// Connects to a port of this machine. Returns the socket.
int connect_to(int port);
int port_of(const std::string& address);

}  // namespace systole::worker::testing
