// Log messages on stderr. If stderr cannot be written, messages are lost and the program runs on.
//   log_info("{}: {} steps", name, steps);
// The environment variable SYSTOLE_LOG sets the lowest level shown: debug, info (the default),
// warning, error, off.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace systole {

enum class LogLevel { debug, info, warning, error, off };

// All functions are thread-safe. Messages of several threads do not mix within a line.
bool log_enabled(LogLevel level);
void set_log_level(LogLevel level);
void log_message(LogLevel level, std::string_view message);
// Logs each distinct text once in the life of the process.
void log_message_once(LogLevel level, std::string_view message);

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::debug)) return;
  log_message(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::info)) return;
  log_message(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::warning)) return;
  log_message(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::error)) return;
  log_message(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_once(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(level)) return;
  log_message_once(level, fmt::format(format, std::forward<Args>(args)...));
}

// While it lives, keeps the messages of all threads and of every level but `off` as "warning: text"
// instead of writing them to stderr. log_message_once starts anew. For tests; one at a time.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::vector<std::string> messages() const;
};

}  // namespace systole
