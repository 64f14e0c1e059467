#include "systole/train/loop/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "systole/base/mutex.h"
#include "systole/runtime/mpi_collective.h"
#include "systole/runtime/preemption.h"

namespace systole {
namespace {

constexpr std::array<int, 3> kStopSignals = {SIGTERM, SIGINT, SIGHUP};

std::atomic<int> received_signal{0};
std::atomic<const char*> current_notice{nullptr};
Mutex users_mutex;
// Guarded by users_mutex:
int users = 0;
std::array<struct sigaction, kStopSignals.size()> previous_actions;

const char* name_of_signal(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return nullptr;
  }
}

// Async-signal-safe. A closed or full stderr is ignored.
void write_text(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

extern "C" void note_signal(int signal) {
  if (received_signal.exchange(signal) == signal) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  const int error = errno;
  if (const char* const notice = current_notice.load()) {
    write_text("\n");
    write_text(name_of_signal(signal));
    write_text(": ");
    write_text(notice);
    write_text("\n");
  }
  errno = error;
}

void install_handlers() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kStopSignals.size(); ++i) {
    sigaction(kStopSignals[i], nullptr, &previous_actions[i]);
    if (kStopSignals[i] == SIGHUP && previous_actions[i].sa_handler == SIG_IGN) continue;
    sigaction(kStopSignals[i], &action, nullptr);
  }
}

}  // namespace

StopSignals::StopSignals(const char* notice) {
  const MutexLock lock(users_mutex);
  enclosing_notice_ = current_notice.load();
  if (notice != nullptr) current_notice = notice;
  if (users++ > 0) return;
  received_signal = 0;
  runtime::clear_preemption();  // of earlier work's device
  install_handlers();
}

StopSignals::~StopSignals() {
  const MutexLock lock(users_mutex);
  current_notice = enclosing_notice_;
  if (--users > 0) return;
  for (size_t i = 0; i < kStopSignals.size(); ++i) {
    sigaction(kStopSignals[i], &previous_actions[i], nullptr);
  }
}

const char* StopSignals::received() {
  if (const char* const name = name_of_signal(received_signal.load())) return name;
  return runtime::preempted() ? "the worker's end" : nullptr;
}

int StopSignals::exit_code() {
  if (received_signal.load() == SIGINT) return 128 + SIGINT;
  return received() == nullptr ? 0 : runtime::kRestartExitCode;
}

}  // namespace systole
