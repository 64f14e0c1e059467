// Progress of a long command: a bar on a terminal, otherwise a line every few seconds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "systole/base/clock.h"

namespace systole {

// Returns "train  [=====>    ]   50 %  30000 of 60000, 6 s left". `width` is that of the bar; 0
// omits it. Negative `seconds`: the remaining time is unknown. Negative `total`: the total is
// unknown.
std::string progress_line(const std::string& name, int64_t done, int64_t total, double seconds,
                          int width);
// "6 s", "2 min 5 s", "3 h 20 min".
std::string duration_text(double seconds);

// Not thread-safe.
class Progress {
 public:
  // Writes to `out` (null: nothing). With `terminal`, rewrites one line. `already` of `total` were
  // done before and do not count for the speed. Negative `total`: unknown.
  Progress(Clock& clock, std::FILE* out, bool terminal, std::string name, int64_t total,
           int64_t already = 0);

  void add(int64_t count);
  // Sets the text after the numbers: "loss 0.1234".
  void set_note(std::string note) { note_ = std::move(note); }
  // Ends the line on a terminal. Otherwise writes a last line if `plain_line`.
  void finish(bool plain_line = false);

 private:
  void show();
  double seconds_since(std::chrono::steady_clock::time_point then);

  Clock& clock_;
  std::FILE* out_;
  bool terminal_;
  std::string name_;
  int64_t total_;
  int64_t already_;
  int64_t done_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
  std::string note_;
  int64_t shown_done_ = -1;
  bool finished_ = false;
};

}  // namespace systole
