// The one exception type of Systole.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace systole {

// Status codes, numbered as gRPC numbers them.
enum class Code {
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

// "INVALID_ARGUMENT" for Code::invalid_argument, and so on.
std::string_view code_name(Code code);

// What every function of Systole throws. `message()` reads
// `<op or file>: <what>, got <value>, expected <value>`; `what()` puts the code's name before it.
class Error : public std::runtime_error {
 public:
  Error(Code code, std::string message);

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same code with `context` (a node and its source line, a file and its offset) after the
  // message.
  Error with_context(std::string_view context) const;

 private:
  Code code_;
  std::string message_;
};

template <class... Args>
Error invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::invalid_argument, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error failed_precondition(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::failed_precondition, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error unimplemented(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::unimplemented, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error not_found(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::not_found, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::internal, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
Error make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace systole
