// Finds what is alive at some time among many.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "systole/backends/cpu/analysis/liveness.h"

namespace systole::cpu {

// Items by their lifetimes, in a segment tree over times from 0 up to the one given. To add an item
// takes the logarithm of the times for each interval; to find those that overlap takes that and the
// number found.
template <class T>
class IntervalIndex {
 public:
  explicit IntervalIndex(int last_time)
      : leaves_(std::bit_ceil(static_cast<size_t>(last_time) + 1)), nodes_(2 * leaves_) {}

  void add(const Lifetime& lifetime, T item) {
    for (const Interval& interval : lifetime) {
      visit(interval, [&](size_t node) {
        nodes_[node].whole.push_back(item);
        for (; node >= 1; node /= 2) {
          std::vector<T>& below = nodes_[node].below;
          if (below.empty() || below.back() != item) below.push_back(item);
        }
      });
    }
  }

  // Returns the items that are alive at some time of `lifetime`, each once, in any order.
  std::vector<T> overlapping(const Lifetime& lifetime) const {
    std::vector<T> found;
    for (const Interval& interval : lifetime) {
      visit(interval, [&](size_t node) {
        found.insert(found.end(), nodes_[node].below.begin(), nodes_[node].below.end());
        for (node /= 2; node >= 1; node /= 2)
          found.insert(found.end(), nodes_[node].whole.begin(), nodes_[node].whole.end());
      });
    }
    std::ranges::sort(found);
    const auto rest = std::ranges::unique(found);
    found.erase(rest.begin(), rest.end());
    return found;
  }

 private:
  struct Node {
    std::vector<T> whole;  // whose intervals have all of this node's times, not all of its parent's
    std::vector<T> below;  // in `whole` of this node or one below it
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
