// Finds the lowest place in memory that is free while an array lives.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "systole/backends/cpu/analysis/liveness.h"

namespace systole::cpu {

// Bytes from `begin` up to `end`.
struct ByteRange {
  int64_t begin;
  int64_t end;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// A union of ranges. Those that touch are one.
class RangeSet {
 public:
  void add(ByteRange range) {
    const auto first = std::ranges::lower_bound(ranges_, range.begin, {}, &ByteRange::end);
    const auto last =
        std::ranges::upper_bound(first, ranges_.end(), range.end, {}, &ByteRange::begin);
    if (first == last) {
      ranges_.insert(first, range);
      return;
    }
    first->begin = std::min(first->begin, range.begin);
    first->end = std::max(std::prev(last)->end, range.end);
    ranges_.erase(first + 1, last);
  }

  bool empty() const { return ranges_.empty(); }

  // Returns the first place from `begin` on where `bytes` bytes are free.
  int64_t first_free(int64_t begin, int64_t bytes) const {
    auto range = std::ranges::upper_bound(ranges_, begin, {}, &ByteRange::end);
    for (; range != ranges_.end() && range->begin < begin + bytes; ++range) begin = range->end;
    return begin;
  }

 private:
  std::vector<ByteRange> ranges_;  // sorted, apart
};

// What is taken of a memory at each of the times from 0 up to the one given, as a segment tree over
// these times. Arrays that lie side by side are one range, so that a query takes little longer
// with many of them.
class ArenaIndex {
 public:
  explicit ArenaIndex(int last_time)
      : leaves_(std::bit_ceil(static_cast<size_t>(last_time) + 1)), nodes_(2 * leaves_) {}

  void add(const Lifetime& lifetime, ByteRange range) {
    for (const Interval& interval : lifetime) {
      visit(interval, [&](size_t node) {
        nodes_[node].whole.add(range);
        for (; node >= 1; node /= 2) nodes_[node].below.add(range);
      });
    }
  }

  // Returns the lowest place where `bytes` bytes are free at all times of `lifetime`.
  int64_t lowest_free(const Lifetime& lifetime, int64_t bytes) const {
    std::vector<const RangeSet*> taken;
    const auto note = [&](const RangeSet& set) {
      if (!set.empty()) taken.push_back(&set);
    };
    for (const Interval& interval : lifetime) {
      visit(interval, [&](size_t node) {
        note(nodes_[node].below);
        for (node /= 2; node >= 1; node /= 2) note(nodes_[node].whole);
      });
    }
    std::ranges::sort(taken);
    taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
    int64_t place = 0;
    // The place is free once all sets have agreed to it since it moved last.
    for (size_t agreed = 0, i = 0; agreed < taken.size(); i = (i + 1) % taken.size()) {
      const int64_t free = taken[i]->first_free(place, bytes);
      agreed = free == place ? agreed + 1 : 1;
      place = free;
    }
    return place;
  }

 private:
  struct Node {
    RangeSet whole;  // of intervals that have all of this node's times, not all of its parent's
    RangeSet below;  // in `whole` of this node or one below it
  };

  // Calls fn(node) for the fewest nodes that make up the interval.
  template <class F>
  void visit(const Interval& interval, F&& fn) const {
    size_t begin = static_cast<size_t>(interval.begin) + leaves_;
    size_t end = static_cast<size_t>(interval.end) + 1 + leaves_;
    for (; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) fn(begin++);
      if (end % 2 == 1) fn(--end);
    }
  }

  size_t leaves_;
  std::vector<Node> nodes_;
};

}  // namespace systole::cpu
