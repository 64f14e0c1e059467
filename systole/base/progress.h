// How far a long command has come: a bar on a terminal, else a line every few seconds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "systole/base/clock.h"

namespace systole {

// "train  [=====>    ]   50 %  30000 of 60000, 6 s left". `width` is that of the bar; 0: none.
// Negative `seconds`: how long it will take is not known; negative `total`: nor of how many.
std::string progress_line(const std::string& name, int64_t done, int64_t total, double seconds,
                          int width);
// "6 s", "2 min 5 s", "3 h 20 min".
std::string duration_text(double seconds);

// Not thread-safe.
class Progress {
 public:
  // Writes to `out` (may be null: nothing), which with `terminal` shows one line that is replaced.
  // `already` of `total` were done before and do not count for the speed. Negative `total`: nobody
  // knows.
  Progress(Clock& clock, std::FILE* out, bool terminal, std::string name, int64_t total,
           int64_t already = 0);

  void add(int64_t count);
  // What stands behind the numbers from now on: "loss 0.1234".
  void set_note(std::string note) { note_ = std::move(note); }
  // The last line, and its end on a terminal. Elsewhere a last line is written if it is wanted.
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
