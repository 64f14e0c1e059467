#include "systole/estimator/hooks/signals.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace systole {
namespace {

std::atomic<int> received_signal{0};
std::mutex users_mutex;
// Guarded by users_mutex:
int users = 0;
struct sigaction previous_term;
struct sigaction previous_int;

extern "C" void note_signal(int signal) {
  if (received_signal.exchange(signal) == signal) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

StopSignals::StopSignals() {
  const std::lock_guard lock(users_mutex);
  if (users++ > 0) return;
  received_signal = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &previous_term);
  sigaction(SIGINT, &action, &previous_int);
}

StopSignals::~StopSignals() {
  const std::lock_guard lock(users_mutex);
  if (--users > 0) return;
  sigaction(SIGTERM, &previous_term, nullptr);
  sigaction(SIGINT, &previous_int, nullptr);
}

const char* StopSignals::received() {
  switch (received_signal.load()) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    default:
      return nullptr;
  }
}

}  // namespace systole
