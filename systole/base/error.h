// The one exception type of Systole.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>

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

// The exception that every function of Systole throws. `message()` reads `<op or file>: <what>, got
// <value>, expected <value>`; `what()` puts the code's name before it.
class Error : public std::runtime_error {
 public:
  Error(Code code, std::string message);

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns the error with `context` (a node and its source line, a file and its offset) appended
  // to the message.
  Error with_context(std::string_view context) const;

 private:
  Code code_;
  std::string message_;
};

// Makes an error with a formatted message. Not inline: error paths are rarely run and much of the
// code.
Error format_error(Code code, fmt::string_view format, fmt::format_args args);

template <class... Args>
Error invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return format_error(Code::invalid_argument, format, fmt::make_format_args(args...));
}
template <class... Args>
Error failed_precondition(fmt::format_string<Args...> format, Args&&... args) {
  return format_error(Code::failed_precondition, format, fmt::make_format_args(args...));
}
template <class... Args>
Error unimplemented(fmt::format_string<Args...> format, Args&&... args) {
  return format_error(Code::unimplemented, format, fmt::make_format_args(args...));
}
template <class... Args>
Error not_found(fmt::format_string<Args...> format, Args&&... args) {
  return format_error(Code::not_found, format, fmt::make_format_args(args...));
}
template <class... Args>
Error internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return format_error(Code::internal, format, fmt::make_format_args(args...));
}
template <class... Args>
Error make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return format_error(code, format, fmt::make_format_args(args...));
}

}  // namespace systole
