// SIGTERM and SIGINT while training: finish the loop, save, and return.
#pragma once

namespace systole {

// While it lives the two signals are noted instead of ending the process; a second one of a kind
// ends it as usual. Of several, on any threads, the first to come and the last to go count.
// Thread-safe.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The name of the signal that came since the first was made, also when all are gone; nullptr when
  // there was none.
  static const char* received();
};

}  // namespace systole
