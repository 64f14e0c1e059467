#include "systole/estimator/signals.h"

#include <atomic>
#include <csignal>

namespace systole {
namespace {

std::atomic<int> received_signal{0};
std::atomic<bool> in_use{false};
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
  if (in_use.exchange(true)) return;
  installed_ = true;
  received_signal = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &previous_term);
  sigaction(SIGINT, &action, &previous_int);
}

StopSignals::~StopSignals() {
  if (!installed_) return;
  sigaction(SIGTERM, &previous_term, nullptr);
  sigaction(SIGINT, &previous_int, nullptr);
  in_use = false;
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
