// Connections of clients that may be slow or hostile, without a thread for each.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/mutex.h"

namespace systole::board {

struct ConnectionLimits {
  size_t max_connections = 256;            // the one that waits longest makes room for a new one
  size_t max_request_bytes = 192U << 10U;  // a request with its headers and body
  size_t max_header_bytes = 64U << 10U;
  // Bytes of incomplete requests and unsent responses, together: the connection that holds most of
  // them is closed. One response may be larger.
  size_t max_buffered_bytes = 48U << 20U;
  int max_requests = 1000;    // of one connection
  int idle_seconds = 5;       // a connection without a request is closed
  int request_seconds = 10;   // to send a whole request
  int response_seconds = 60;  // to take a whole response: a client that stops reading is left
};

// A complete request.
struct IncomingRequest {
  uint64_t connection = 0;
  std::string bytes;
  bool last = false;  // the connection takes no other one
  // True once the client has closed its side: what costs much need not begin.
  std::shared_ptr<const std::atomic<bool>> left = {};
};

// One thread moves the bytes of all connections: it hands over requests when they are complete, and
// sends responses as clients take them. A client that waits costs a descriptor and its bytes.
class Connections {
 public:
  // `on_request` is called by the thread of serve(), must not wait, and leads to one respond().
  Connections(ConnectionLimits limits, std::function<void(IncomingRequest)> on_request);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Accepts connections of a listening socket, which the caller closes, until stop().
  void serve(int listener);
  // Ends serve() at once, also before it begins. Thread-safe.
  void stop();
  // Answers the request of a connection: "" closes it. With `keep` it may send another one.
  // Thread-safe.
  void respond(uint64_t connection, std::string response, bool keep);

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class State : uint8_t { reading, answering, writing };
  struct Connection {
    int socket = -1;
    State state = State::reading;
    Time since;  // when the state began, or the first byte of the request came
    std::string in;
    size_t searched = 0;  // bytes of `in` without the end of the headers
    std::string out;
    size_t sent = 0;
    bool keep = false;
    int requests = 0;
    std::shared_ptr<std::atomic<bool>> left = {};  // IncomingRequest::left
  };
  using Entry = std::map<uint64_t, Connection>::iterator;
  struct Answer {
    uint64_t connection;
    std::string bytes;
    bool keep;
  };

  void accept_from(int listener);
  void make_room();
  void bound_buffers(uint64_t except);
  void take_answers();
  void read(Entry entry);
  // The request at the front of `in`: more bytes than are there if it is not complete.
  struct Extent {
    size_t bytes = 0;
    bool last = false;
    bool headers_end = true;
  };
  Extent next_request(const Connection& connection) const;
  // Hands over the request at the front of `in`, if it is complete.
  void hand_over(Entry entry);
  void write(Entry entry);
  void close_late();
  Time deadline(const Connection& connection) const;
  int poll_timeout() const;
  void close(Entry entry);
  size_t buffered(const Connection& connection) const;

  const ConnectionLimits limits_;
  const std::function<void(IncomingRequest)> on_request_;
  int wake_ = -1;                               // an eventfd
  std::map<uint64_t, Connection> connections_;  // by number: older ones first
  uint64_t next_ = 1;
  Time accept_again_;  // after the descriptors ran out
  Mutex mutex_;
  std::vector<Answer> answers_ SYSTOLE_GUARDED_BY(mutex_);
  bool stopped_ SYSTOLE_GUARDED_BY(mutex_) = false;
};

}  // namespace systole::board
