// Accepts the connections of a worker.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/worker/network/connections.h"
#include "systole/worker/network/listener.h"

namespace systole::worker {

// A thread that accepts connections, looks at their first bytes, and hands them on. It continues
// when descriptors run out: connections that it cannot take are closed.
class Acceptor {
 public:
  // Takes a descriptor.
  using Take = std::function<void(int descriptor)>;

  // Listens at once, and raises the process's limit of descriptors to what it may have. With `tls`
  // a connection begins with a handshake, otherwise with the preface of HTTP/2; others are closed.
  // Errors: those of Listener.
  Acceptor(const std::string& address, const ConnectionLimits& limits, bool tls);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Begins to accept. `take` gets connections of the network, `take_own` those of connect_own().
  void start(Take take, Take take_own);
  // Ends the thread and all connections.
  void stop();

  int port() const { return listener_.port(); }
  Connections& connections() { return connections_; }

  // Connects to the port as a client does, for a connection that is not a stranger's. Returns the
  // socket, or nullopt if it was not accepted within `seconds`.
  std::optional<int> connect_own(double seconds);

 private:
  void run();
  void accept_all(int listener);
  void accepted(int descriptor, const Peer& peer);
  void shed();
  // The first bytes of a connection have arrived.
  void look_at(const std::shared_ptr<Connection>& connection);
  // Returns the descriptor that was taken, or -1.
  int hand_over(const std::shared_ptr<Connection>& connection, const Take& take);
  // Hands on strangers that wait, the newest first, as long as gRPC has few of them.
  void hand_on();
  void forget(const std::shared_ptr<Connection>& connection);
  // Whether it is a connection of connect_own().
  bool is_own(const Peer& peer);

  const bool tls_;
  Listener listener_;
  Connections connections_;
  Take take_;
  Take take_own_;
  int events_ = -1;  // epoll
  int wake_ = -1;    // eventfd
  int spare_ = -1;   // closed to accept a connection when there is no other descriptor
  // All of the thread.
  std::map<int, std::shared_ptr<Connection>> watched_;  // by descriptor
  std::vector<std::shared_ptr<Connection>> ready_;      // strangers that wait to be handed on
  struct Handed {
    std::shared_ptr<Connection> connection;
    int descriptor = -1;  // of gRPC, as long as it has not closed it
    Connection::Clock::time_point since;
  };
  std::vector<Handed>
      handed_;  // strangers that gRPC has, oldest first; it may be slow to close them
  Mutex own_mutex_;
  std::map<Peer, bool> own_ SYSTOLE_GUARDED_BY(
      own_mutex_);  // connections of connect_own(), and whether they have arrived
  std::thread thread_;
};

}  // namespace systole::worker
