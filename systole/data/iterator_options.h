// Options of an iterator that do not change which elements it produces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace systole {

// For num_parallel_calls and the buffer_size of prefetch: chosen from the number of cores, the time
// that the consumer waits and the memory allowed. (tf.data.experimental.AUTOTUNE)
inline constexpr int64_t AUTOTUNE = -1;

struct IteratorOptions {
  // Measures the time of each stage. Costs a few nanoseconds an element.
  bool stats = true;
  // The random state of unseeded shuffles. Absent: taken from the operating system.
  std::optional<uint64_t> entropy;
  // Keeps an error that was read ahead of a saved position: after restoring it is thrown in its
  // place. false: drops it with a warning, so that training can continue once its cause is mended.
  bool keeps_errors = true;
  // Threads of a stage with AUTOTUNE. 0: one for each core that this process may use.
  int autotune_threads = 0;
  // Bytes that each AUTOTUNE prefetch may hold.
  int64_t autotune_bytes = int64_t{256} << 20;
};

// Statistics of one stage.
struct StageStats {
  std::string name;           // "map"
  int depth = 0;              // number of stages after it
  bool threaded = false;      // runs on its own threads
  int threads = 1;            // number of threads that do its work
  int64_t elements = 0;       // produced
  double busy_seconds = 0;    // work on all its threads, without its inputs
  double waited_seconds = 0;  // how long consumers waited for a threaded stage

  // The time that limits the stage's throughput.
  double busy_seconds_of_each() const { return busy_seconds / threads; }
};

}  // namespace systole
