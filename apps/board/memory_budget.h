// How much memory the runs of a board may take together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace systole::board {

// Points and references can be thinned (Run::shrink); names, descriptions, hyperparameters and
// everything else that is kept cannot, so they have at most half of the memory. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit) : limit_(limit) {}

  // Takes memory for names. Returns false, and counts what is dropped, if there is none left.
  bool take_names(size_t bytes) {
    if (names_.fetch_add(bytes) + bytes <= limit_ / 2) return true;
    names_ -= bytes;
    ++dropped_;
    return false;
  }
  void give_names(size_t bytes) { names_ -= bytes; }

  // Adds to the memory of points, an estimate until set_points() tells the true one.
  void add_points(size_t bytes) { points_ += bytes; }
  void set_points(size_t bytes) { points_ = bytes; }

  bool is_over() const { return names_ + points_ > limit_; }
  // No point can be thinned any more: new ones are dropped.
  bool is_full() const { return full_; }
  void set_full(bool full) { full_ = full; }

  size_t limit() const { return limit_; }
  size_t used() const { return names_ + points_; }
  size_t names() const { return names_; }
  // Returns how often memory for names was refused.
  uint64_t dropped() const { return dropped_; }

 private:
  const size_t limit_;
  std::atomic<size_t> names_ = 0;
  std::atomic<size_t> points_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
  std::atomic<bool> full_ = false;
};

}  // namespace systole::board
