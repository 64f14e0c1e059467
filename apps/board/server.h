// Serves a board over HTTP.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apps/board/board.h"

namespace systole::board {

struct ServerLimits {
  size_t max_request_bytes = 2U << 20U;  // a request with its headers and body
  size_t max_header_bytes = 64U << 10U;
  int idle_seconds = 5;       // a connection without a request is closed
  int request_seconds = 10;   // to send a whole request
  int response_seconds = 60;  // to take a whole response: a client that stops reading is left
  int threads = 24;           // connections that are served at once
};

// Thread-safe: stop() may be called from any thread.
class Server {
 public:
  // `board` must outlive the object.
  explicit Server(const Board& board, ServerLimits limits = {});
  ~Server();

  // Takes the address; port 0 chooses a free one. Returns the port. Errors: UNAVAILABLE if the port
  // is taken or the address is not one of this machine.
  int bind(const std::string& host, int port);
  // Serves until stop(). REQUIRES: bind() has returned.
  void serve();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Answers one request given as bytes, through the same parser and limits as a connection. Returns
// the bytes of the response; "" if the connection would be closed without one.
std::string answer_bytes(const Board& board, std::string_view request, ServerLimits limits = {});

}  // namespace systole::board
