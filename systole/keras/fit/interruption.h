// Ctrl-C in programs that train several times: the first one ends the fit() under way, and no
// training begins after it.
#pragma once

#include <string_view>

namespace systole::keras {

// Allows the process to train again after a signal ended a fit(). Until this is called, every fit()
// and train_on_batch() throws CANCELLED, so that a loop of them ends. Thread-safe.
void resume_training();

// While an object exists, a fit() of its thread that a signal ended refuses no training after it:
// the caller throws what ends the loop (History::stopped_by).
class InterruptionsAreThrown {
 public:
  InterruptionsAreThrown();
  ~InterruptionsAreThrown();
  InterruptionsAreThrown(const InterruptionsAreThrown&) = delete;
  InterruptionsAreThrown& operator=(const InterruptionsAreThrown&) = delete;
  static bool any();

 private:
  bool enclosing_;
};

// -- For fit() and train_on_batch()
// `signal`: a literal, the name of the signal that ended a fit().
void note_interruption(const char* signal);
// Errors: CANCELLED after note_interruption().
void check_not_interrupted(std::string_view what);

}  // namespace systole::keras
