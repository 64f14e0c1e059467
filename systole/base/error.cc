#include "systole/base/error.h"

#include <array>

namespace systole {

std::string_view code_name(Code code) {
  static constexpr std::array<std::string_view, 17> kNames = {"OK",
                                                              "CANCELLED",
                                                              "UNKNOWN",
                                                              "INVALID_ARGUMENT",
                                                              "DEADLINE_EXCEEDED",
                                                              "NOT_FOUND",
                                                              "ALREADY_EXISTS",
                                                              "PERMISSION_DENIED",
                                                              "RESOURCE_EXHAUSTED",
                                                              "FAILED_PRECONDITION",
                                                              "ABORTED",
                                                              "OUT_OF_RANGE",
                                                              "UNIMPLEMENTED",
                                                              "INTERNAL",
                                                              "UNAVAILABLE",
                                                              "DATA_LOSS",
                                                              "UNAUTHENTICATED"};
  return kNames.at(static_cast<size_t>(code));
}

Error::Error(Code code, std::string message)
    : std::runtime_error(fmt::format("{}: {}", code_name(code), message)),
      code_(code),
      message_(std::move(message)) {}

Error format_error(Code code, fmt::string_view format, fmt::format_args args) {
  return Error(code, fmt::vformat(format, args));
}

Error Error::with_context(std::string_view context) const {
  return Error(code_, fmt::format("{}, {}", message_, context));
}

}  // namespace systole
