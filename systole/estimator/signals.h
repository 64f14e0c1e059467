// SIGTERM and SIGINT while training: finish the loop, save, and return.
#pragma once

namespace systole {

// While it lives the two signals are noted instead of ending the process; a second one of a kind
// ends it as usual. One at a time counts: the outermost.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The name of the signal that came since the outermost was made, also when it is gone; nullptr
  // when there was none.
  static const char* received();

 private:
  bool installed_ = false;
};

}  // namespace systole
