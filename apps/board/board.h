// Answers the requests of the page and of scripts made for TensorBoard.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/board/http.h"
#include "apps/board/logdir.h"

namespace systole::board {

struct BoardOptions {
  // Names that the header Host may have, without the port. A page of another site that resolves to
  // this machine is refused.
  std::vector<std::string> hosts = {"localhost", "127.0.0.1", "[::1]"};
  // If not empty, every request needs it: as the parameter `token` or as the cookie that the answer
  // to such a request sets. Then `hosts` is not checked.
  std::string token;
  size_t max_body_bytes = 128U << 10U;
};

// Thread-safe.
class Board {
 public:
  // `logdir` must outlive the object.
  Board(Logdir& logdir, BoardOptions options = {});

  // Never throws: an error is a response with a JSON object {"error": "..."}.
  Response handle(const Request& request) const;

  const Logdir& logdir() const { return logdir_; }
  // Identifies this object: run ids of another one mean other runs.
  const std::string& instance() const { return instance_; }
  const BoardOptions& options() const { return options_; }

 private:
  Response route(const Request& request) const;
  bool is_host_allowed(std::string_view host) const;
  bool has_token(const Request& request) const;

  Logdir& logdir_;
  const BoardOptions options_;
  const std::string instance_;
};

// Headers of every response, also of those that the HTTP library makes.
const std::vector<std::pair<std::string, std::string>>& safety_headers();

// An error of a request with its HTTP status.
struct RequestError {
  int status;
  std::string message;
};

}  // namespace systole::board
