#include "systole/profile/triggers.h"

#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/profile/writer.h"

namespace systole::profile {
namespace {

constexpr const char* kFolderVariable = "SYSTOLE_PROFILE";
constexpr double kSecondsOfSignal = 2;
constexpr double kSecondsOfVariable = 10;
constexpr double kMaxSeconds = 3600;

// The requests of the process. Never destroyed: the signal may come at any time.
struct Triggers {
  sem_t signalled{};
  Mutex folder_mutex;
  std::string folder SYSTOLE_GUARDED_BY(folder_mutex);  // of captures by signal
  Mutex mutex;
  CondVar ending;
  // Guarded by the mutex:
  std::optional<Capture> at_start SYSTOLE_GUARDED_BY(mutex);
  bool ended SYSTOLE_GUARDED_BY(mutex) = false;
};

Triggers& triggers() {
  static auto* const instance = [] {
    auto* const made = new Triggers;
    sem_init(&made->signalled, 0, 0);
    return made;
  }();
  return *instance;
}

double seconds_wanted(double otherwise) {
  const char* const text = std::getenv("SYSTOLE_PROFILE_SECONDS");
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end != text && *end == '\0' && seconds > 0 && seconds <= kMaxSeconds) return seconds;
  log_warning("SYSTOLE_PROFILE_SECONDS: got '{}', expected a number of seconds up to {}", text,
              kMaxSeconds);
  return otherwise;
}

void report_failure(const std::exception& error) {
  log_warning("profile: nothing was written: {}", error.what());
}

void finish(std::optional<Capture>& capture) {
  try {
    if (capture) capture->finish();
  } catch (const std::exception& error) {
    report_failure(error);
  }
  capture.reset();
}

// Waits until the process ends, at most so long. REQUIRES: the lock.
void wait_for_end(MutexLock& lock, double seconds) {
  triggers().ending.wait_for(lock, std::chrono::duration<double>(seconds),
                             []() SYSTOLE_REQUIRES(triggers().mutex) { return triggers().ended; });
}

void capture_from_start() {
  MutexLock lock(triggers().mutex);
  wait_for_end(lock, seconds_wanted(kSecondsOfVariable));
  finish(triggers().at_start);
}

std::string signal_folder() {
  const MutexLock lock(triggers().folder_mutex);
  return triggers().folder;
}

void capture_on_signals() {
  while (true) {
    while (sem_wait(&triggers().signalled) != 0 && errno == EINTR) {
    }
    MutexLock lock(triggers().mutex);
    if (triggers().ended) return;
    try {
      const std::string folder = signal_folder();
      std::optional<Capture> capture(std::in_place, folder);
      const double seconds = seconds_wanted(kSecondsOfSignal);
      log_info("profile: captures {} s into {}", seconds, folder);
      wait_for_end(lock, seconds);
      finish(capture);
    } catch (const std::exception& error) {
      report_failure(error);
    }
  }
}

// Async-signal-safe.
extern "C" void request_capture(int) {
  const int error = errno;
  sem_post(&triggers().signalled);
  errno = error;
}

void end_captures() {
  Triggers& t = triggers();
  const MutexLock lock(t.mutex);
  t.ended = true;
  t.ending.notify_all();
  finish(t.at_start);
}

void install_signal() {
  struct sigaction current = {};
  sigaction(SIGUSR2, nullptr, &current);
  if (current.sa_handler != SIG_DFL) return;
  struct sigaction action = {};
  action.sa_handler = request_capture;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  std::thread(capture_on_signals).detach();
  sigaction(SIGUSR2, &action, nullptr);
}

void install() {
  std::atexit(end_captures);
  install_signal();
  const std::string folder = environment_value(kFolderVariable);
  if (folder.empty()) return;
  try {
    const MutexLock lock(triggers().mutex);
    triggers().at_start.emplace(folder);
  } catch (const std::exception& error) {
    return report_failure(error);
  }
  std::thread(capture_from_start).detach();
}

}  // namespace

void install_triggers(const char* folder) {
  static std::once_flag once;
  std::call_once(once, install);
  const std::string variable = environment_value(kFolderVariable);
  const bool given = folder != nullptr && *folder != '\0';
  const MutexLock lock(triggers().folder_mutex);
  triggers().folder = !variable.empty() ? variable : given ? folder : "profile";
}

}  // namespace systole::profile
