#include "systole/keras/fit/interruption.h"

#include <atomic>

#include "systole/base/error.h"

namespace systole::keras {
namespace {

std::atomic<const char*> ended_by{nullptr};

thread_local bool thrown = false;

}  // namespace

InterruptionsAreThrown::InterruptionsAreThrown() : enclosing_(thrown) { thrown = true; }
InterruptionsAreThrown::~InterruptionsAreThrown() { thrown = enclosing_; }
bool InterruptionsAreThrown::any() { return thrown; }

void resume_training() { ended_by = nullptr; }

void note_interruption(const char* signal) { ended_by = signal; }

void check_not_interrupted(std::string_view what) {
  const char* const signal = ended_by.load();
  if (signal == nullptr) return;
  throw make_error(Code::cancelled,
                   "{}: got {} during the fit() before, expected resume_training() before another "
                   "training begins",
                   what, signal);
}

}  // namespace systole::keras
