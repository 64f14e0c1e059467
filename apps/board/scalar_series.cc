#include "apps/board/scalar_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace systole::board {
namespace {

// Returns the two indices of a group that represent it, in order.
std::pair<size_t, size_t> extremes(const ScalarSeries& series, size_t begin, size_t end) {
  size_t least = begin;
  size_t most = begin;
  for (size_t i = begin; i < end; ++i) {
    const double value = series[i].value;
    if (std::isnan(value)) {
      least = i;
    } else {
      if (value < series[least].value) least = i;
      if (!(value <= series[most].value)) most = i;
    }
  }
  return std::minmax(least, most);
}

}  // namespace

void ScalarSeries::append(const ScalarPoint& point) {
  if (size_ % kBlock == 0) blocks_.emplace_back();
  std::vector<ScalarPoint>& block = blocks_.back();
  if (block.size() == block.capacity()) {
    const size_t least = size_ < kBlock ? 1 : kBlock / 16;
    block.reserve(std::min(kBlock, std::max(2 * block.size(), least)));
  }
  block.push_back(point);
  ++size_;
}

void ScalarSeries::add(const ScalarPoint& point) {
  if (size_ == 0 || point.step < back().step) segments_.push_back(size_);
  append(point);
  ++total_;
}

// Frees the blocks that end before point `end`: they and their replacement together would be more
// than the memory that was to be saved.
void ScalarSeries::free_before(size_t end) {
  for (size_t block = end / kBlock; block-- > 0 && !blocks_[block].empty();) blocks_[block] = {};
}

void ScalarSeries::thin() {
  ScalarSeries kept;
  for (size_t s = 0; s < segments_.size(); ++s) {
    const size_t begin = segments_[s];
    const size_t end = s + 1 < segments_.size() ? segments_[s + 1] : size_;
    kept.segments_.push_back(kept.size_);
    kept.append((*this)[begin]);
    size_t i = begin + 1;
    for (; i + 4 < end; i += 4) {
      const auto [first, second] = extremes(*this, i, i + 4);
      kept.append((*this)[first]);
      if (second != first) kept.append((*this)[second]);
      free_before(i);
    }
    for (; i < end; ++i) kept.append((*this)[i]);
    free_before(end);
  }
  if (!kept.blocks_.empty()) kept.blocks_.back().shrink_to_fit();
  kept.segments_.shrink_to_fit();
  kept.total_ = total_;
  *this = std::move(kept);
}

size_t ScalarSeries::bytes() const {
  size_t bytes = segments_.capacity() * sizeof(size_t) + blocks_.capacity() * sizeof(blocks_[0]);
  for (const auto& block : blocks_) bytes += block.capacity() * sizeof(ScalarPoint);
  return bytes;
}

}  // namespace systole::board
