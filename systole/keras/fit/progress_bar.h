// The progress bar of fit() and evaluate(), as Keras draws it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "systole/keras/training/callback.h"

namespace systole::keras {

// Where fit(), evaluate() and callbacks write what `verbose` asks for: stdout, and while an object
// exists, on its thread, another file. The file outlives the object.
class ProgressOutput {
 public:
  // `terminal`: the file shows a bar that is drawn over and over.
  ProgressOutput(std::FILE* file, bool terminal);
  ~ProgressOutput();
  ProgressOutput(const ProgressOutput&) = delete;
  ProgressOutput& operator=(const ProgressOutput&) = delete;

  static std::FILE* file();
  static bool is_terminal();

 private:
  ProgressOutput* enclosing_;
  std::FILE* file_;
  bool terminal_;
};

// " 3200/25000 [==>...........................] - ETA: 5:01 - loss: 0.6931 - acc: 0.5078"
// Values are the running means that the caller gives. Drawn at most every 0.05 s, and only on a
// terminal; elsewhere finish() writes one line.
class ProgressBar {
 public:
  // Draws to the ProgressOutput. `target`: 0 when not known. `unit`: what is counted, "sample" or
  // "step".
  ProgressBar(int64_t target, std::string unit);
  bool terminal() const { return terminal_; }
  void update(int64_t done, const Logs& logs);
  // The last state, with the time that a sample took.
  void finish(const Logs& logs);
  // " - 17s - loss: 0.6931": the last state for verbose = 2.
  void finish_without_bar(const Logs& logs);

  // The text of a state after `seconds`: exposed for tests.
  static std::string line(int64_t done, int64_t target, double seconds, const Logs& logs,
                          const std::string& unit);

 private:
  double elapsed() const;
  void draw(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  int64_t target_;
  std::string unit_;
  int64_t done_ = 0;
  std::chrono::steady_clock::time_point start_;
  double drawn_at_ = -1;
  size_t width_ = 0;
};

// " - loss: 0.6931 - acc: 0.5078"; small values as 1.0000e-04.
std::string values_text(const Logs& logs);

}  // namespace systole::keras
