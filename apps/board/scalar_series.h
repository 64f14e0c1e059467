// The points of one scalar tag of one run, in the order in which they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace systole::board {

struct ScalarPoint {
  int64_t step = 0;
  double wall_time = 0;  // seconds since the Unix epoch
  double value = 0;
};

// Points are grouped into segments: a new one starts when the step goes back, as after a restart
// from a checkpoint. Not thread-safe.
class ScalarSeries {
 public:
  void add(const ScalarPoint& point);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const ScalarPoint& operator[](size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  const ScalarPoint& back() const { return (*this)[size_ - 1]; }

  // The index of each segment's first point, in increasing order; 0 comes first.
  const std::vector<size_t>& segments() const { return segments_; }

  // Returns the points that were added, including those that thin() removed.
  uint64_t total() const { return total_; }
  // Replaces every four points of a segment by their minimum and maximum, in order. A group with a
  // NaN keeps that instead of its minimum. Keeps each segment's first and last point.
  void thin();
  // Returns the memory of the points.
  size_t bytes() const;

 private:
  static constexpr size_t kBlock = 4096;

  void append(const ScalarPoint& point);
  void free_before(size_t end);

  std::vector<std::vector<ScalarPoint>> blocks_;
  std::vector<size_t> segments_;
  size_t size_ = 0;
  uint64_t total_ = 0;
};

}  // namespace systole::board
