// The connections of a worker, and what each may cost.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/worker/network/peer.h"

namespace systole::worker {

struct ConnectionLimits {
  // Connections that have not shown the token. When there are more, the oldest one of the address
  // that has the most of them makes room.
  int64_t max_strangers = 128;
  double stranger_seconds = 10;  // until a connection must have shown the token
  // That it may send until then: a handshake, headers, and what of a message fits into the window
  // of a stream that nobody reads yet.
  int64_t stranger_bytes = int64_t{72} << 10;
  int64_t max_known = 0;      // connections that have shown the token
  double idle_seconds = 1;    // after which one of these may make room
  int64_t max_calls = 96;     // of one connection at a time
  int max_refusals = 4;       // calls of one connection that are refused
  int64_t max_resets = 2000;  // calls of one connection that are cancelled in 10 s
};

// A descriptor of a connection, besides that of gRPC. Thread-safe.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes the descriptor.
  Connection(int descriptor, const Peer& peer, uint64_t number)
      : descriptor_(descriptor), peer_(peer), number_(number) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Ends the connection for both sides and for gRPC.
  void shut_down();
  bool is_shut_down() const { return shut_down_; }
  // Whether another descriptor of this process is one of the connection.
  bool has_descriptor(int other) const;
  // Bytes that have arrived.
  int64_t received_bytes() const;

  int descriptor() const { return descriptor_; }
  const Peer& peer() const { return peer_; }
  uint64_t number() const { return number_; }
  bool known() const { return known_; }
  // Lets the other side send as much at a time as the kernel thinks right, not a little as before.
  void widen() const;
  // Bytes that wait to be read.
  int64_t waiting_bytes() const;
  // Calls that have not ended. Returns their number.
  int64_t call_began() { return ++calls_; }
  void call_ended() {
    idle_since_ = Clock::now();
    --calls_;
  }

 private:
  friend class Connections;
  const int descriptor_;
  const Peer peer_;
  const uint64_t number_;  // in the order of their arrival
  const Clock::time_point begin_ = Clock::now();
  std::atomic<bool> known_ = false;
  std::atomic<bool> shut_down_ = false;
  std::atomic<int64_t> calls_ = 0;
  std::atomic<Clock::time_point> idle_since_ = Clock::now();
  std::atomic<int> refusals_ = 0;
  std::atomic<int64_t> resets_ = 0;  // in this period
};

// Thread-safe.
class Connections {
 public:
  explicit Connections(const ConnectionLimits& limits) : limits_(limits) {}

  // Adds a connection that has just been accepted. Takes the descriptor. Others are shut down to
  // make room.
  std::shared_ptr<Connection> add(int descriptor, const Peer& peer);
  // Adds one of the worker itself, which counts as known and is not limited.
  std::shared_ptr<Connection> add_own(int descriptor, const Peer& peer);
  // Returns null for a connection that was removed.
  std::shared_ptr<Connection> find(const Peer& peer) const;
  void remove(const Connection& connection);

  // A call has shown the token. Returns false, and shuts the connection down, if there are too many
  // that have, all with calls.
  bool make_known(Connection& connection);
  // Calls make_known(). Errors: RESOURCE_EXHAUSTED where that returns false.
  void admit(Connection& connection);
  // A call has been refused for its token or method. The connection is shut down when it is one too
  // many.
  void count_refusal(Connection& connection) const;
  // A call has begun. The connection is shut down when there are too many: a client that keeps to
  // the limit that gRPC tells it has fewer.
  void count_call(Connection& connection) const;
  // A call has been cancelled by the client.
  void count_reset(Connection& connection) const;
  // Shuts down a stranger that has sent too much.
  void check_bytes(Connection& stranger);
  // Shuts down connections that did not show the token in time, or sent too much until then. Called
  // every few milliseconds while there are strangers.
  void check(Connection::Clock::time_point now);
  // Shuts down the stranger that is the first to make room. Returns whether there was one.
  bool evict_stranger();
  void shut_down_all();

  int64_t num_strangers() const;
  int64_t num_known() const;

 private:
  using Pool = std::map<uint64_t, std::shared_ptr<Connection>>;  // by number: oldest first
  // All REQUIRE the lock.
  std::shared_ptr<Connection> insert(int descriptor, const Peer& peer) SYSTOLE_REQUIRES(mutex_);
  std::shared_ptr<Connection> stranger_to_evict() const SYSTOLE_REQUIRES(mutex_);
  void take_out(const Connection& connection) SYSTOLE_REQUIRES(mutex_);
  void report(Connection::Clock::time_point now) SYSTOLE_REQUIRES(mutex_);

  const ConnectionLimits limits_;
  mutable Mutex mutex_;
  std::map<Peer, std::shared_ptr<Connection>> all_ SYSTOLE_GUARDED_BY(mutex_);
  Pool strangers_ SYSTOLE_GUARDED_BY(mutex_);
  Pool known_ SYSTOLE_GUARDED_BY(mutex_);
  uint64_t next_number_ SYSTOLE_GUARDED_BY(mutex_) = 0;
  int64_t shut_down_ SYSTOLE_GUARDED_BY(mutex_) = 0;  // since the last report
  Connection::Clock::time_point reported_ SYSTOLE_GUARDED_BY(mutex_){};
  Connection::Clock::time_point period_began_ SYSTOLE_GUARDED_BY(mutex_){};
};

}  // namespace systole::worker
