#include "systole/base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "systole/base/color.h"
#include "systole/base/standard_streams.h"

namespace systole {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warning", "error", "off"};
constexpr std::array<spdlog::level::level_enum, 5> kSpdlog = {
    spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err,
    spdlog::level::off};

template <class Row>
const Row& row(const std::array<Row, 5>& table, LogLevel level) {
  return table.at(static_cast<size_t>(level));
}

// Writes lines to stderr. It outlives a stderr that cannot be written.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::string_view text(line.data(), line.size());
    if (message.level < spdlog::level::warn) return write_ignoring_errors(stderr, text);
    const Style style = message.level == spdlog::level::warn ? Style::yellow : Style::red;
    write_ignoring_errors(stderr, styled(style, text, stderr));
  }
  void flush_() override {}
};

struct Logger {
  Logger();

  spdlog::logger out;
  std::atomic<LogLevel> level{LogLevel::info};
  std::mutex mutex;
  std::set<std::string, std::less<>> said;             // guarded by mutex
  std::unique_ptr<std::vector<std::string>> captured;  // guarded by mutex; null when not capturing
  LogLevel level_before_capture = LogLevel::info;      // guarded by mutex
};

Logger::Logger() : out("systole", std::make_shared<StderrSink>()) {
  out.set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  out.set_level(spdlog::level::trace);
  const char* wanted = std::getenv("SYSTOLE_LOG");  // NOLINT(concurrency-mt-unsafe)
  if (wanted == nullptr || *wanted == '\0') return;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == wanted) {
      level = static_cast<LogLevel>(i);
      return;
    }
  }
  out.warn("SYSTOLE_LOG: level, got '{}', expected debug, info, warning, error or off", wanted);
}

Logger& logger() {
  static Logger* const instance = new Logger();  // never destroyed: others may log at exit
  return *instance;
}

}  // namespace

bool log_enabled(LogLevel level) {
  return level >= logger().level.load(std::memory_order_relaxed) && level != LogLevel::off;
}

void set_log_level(LogLevel level) { logger().level = level; }

void log_message(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  Logger& log = logger();
  {
    const std::lock_guard lock(log.mutex);
    if (log.captured != nullptr) {
      log.captured->push_back(fmt::format("{}: {}", row(kNames, level), message));
      return;
    }
  }
  log.out.log(row(kSpdlog, level), "{}", message);
}

void log_message_once(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  Logger& log = logger();
  {
    const std::lock_guard lock(log.mutex);
    if (!log.said.emplace(message).second) return;
  }
  log_message(level, message);
}

LogCapture::LogCapture() {
  Logger& log = logger();
  const std::lock_guard lock(log.mutex);
  log.captured = std::make_unique<std::vector<std::string>>();
  log.said.clear();
  log.level_before_capture = log.level.exchange(LogLevel::debug);
}

LogCapture::~LogCapture() {
  Logger& log = logger();
  const std::lock_guard lock(log.mutex);
  log.captured = nullptr;
  log.level = log.level_before_capture;
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): asked of a capture that lives
std::vector<std::string> LogCapture::messages() const {
  Logger& log = logger();
  const std::lock_guard lock(log.mutex);
  return *log.captured;
}

}  // namespace systole
