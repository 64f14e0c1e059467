// How a pipeline runs, as far as it does not change what it gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace systole {

// For num_parallel_calls and prefetch's buffer_size: sized to the cores, and to how long the
// consumer waits and the memory allowed. (tf.data.experimental.AUTOTUNE)
inline constexpr int64_t AUTOTUNE = -1;

struct IteratorOptions {
  // Time each stage: a few nanoseconds an element.
  bool stats = true;
  // What unseeded shuffles draw from; from the operating system when absent.
  std::optional<uint64_t> entropy;
  // An error that was read ahead of a saved position comes in its place after restoring. Otherwise
  // it is left out, with a warning: whoever mends its cause can go on from there.
  bool keeps_errors = true;
  // Threads of a stage with AUTOTUNE; 0: one for each core this process may use.
  int autotune_threads = 0;
  // Bytes that each AUTOTUNE prefetch may hold.
  int64_t autotune_bytes = int64_t{256} << 20;
};

// What one stage has done so far.
struct StageStats {
  std::string name;           // "map"
  int depth = 0;              // stages between it and the end of the pipeline
  bool threaded = false;      // it has threads of its own
  int threads = 1;            // that do its work
  int64_t elements = 0;       // given
  double busy_seconds = 0;    // its own work, over all its threads, without that of its inputs
  double waited_seconds = 0;  // of a threaded stage: how long it was waited for

  // What decides how fast it is.
  double busy_seconds_of_each() const { return busy_seconds / threads; }
};

}  // namespace systole
