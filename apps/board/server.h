// Serves a board over HTTP.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apps/board/board.h"
#include "apps/board/connections.h"

namespace systole::board {

struct ServerLimits {
  ConnectionLimits connections;
  int threads = 8;  // of quick answers; medium ones have two threads and heavy ones have one
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
  // Serves until stop(), then waits for the answers that are being made. REQUIRES: bind() has
  // returned. Errors: RESOURCE_EXHAUSTED if no thread can be started.
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
