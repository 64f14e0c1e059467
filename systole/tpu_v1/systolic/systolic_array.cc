#include "systole/tpu_v1/systolic/systolic_array.h"

#include "systole/base/error.h"

namespace systole::tpu_v1 {

SystolicArray::SystolicArray(int size) : size_(size) {
  if (size < 1 || size > 512)
    throw invalid_argument("systolic array: size, got {}, expected 1 to 512", size);
  cells_.resize(static_cast<size_t>(size) * static_cast<size_t>(size));
}

void SystolicArray::shift_weights(const Feed& feed) {
  if (!feed.weights) return;
  for (int r = size_ - 1; r > 0; --r) {
    for (int c = 0; c < size_; ++c) cells_[index(r, c)].shadow = cells_[index(r - 1, c)].shadow;
  }
  for (int c = 0; c < size_; ++c) cells_[index(0, c)].shadow = (*feed.weights)[c];
}

void SystolicArray::step(const Feed& feed) {
  entering_.push_front({});
  if (feed.vector) {
    entering_.front() = {*feed.vector, true, feed.next, vectors_++};
    results_.push_back({std::vector<int32_t>(static_cast<size_t>(size_)), 0});
  }
  if (entering_.size() > static_cast<size_t>(size_)) entering_.pop_back();
  // From the lower right to the upper left, so that neighbours still hold the values of the cycle
  // before.
  for (int r = size_ - 1; r >= 0; --r) {
    for (int c = size_ - 1; c >= 0; --c) {
      Cell& cell = cells_[index(r, c)];
      if (c > 0) {
        const Cell& left = cells_[index(r, c - 1)];
        cell.input = left.input;
        cell.vector = left.vector;
        cell.next = left.next;
      } else {
        const Entry* entry = static_cast<size_t>(r) < entering_.size() ? &entering_[r] : nullptr;
        const bool valid = entry != nullptr && entry->valid;
        cell.input = valid ? entry->values[r] : 0;
        cell.vector = valid ? entry->number : -1;
        cell.next = valid && entry->next;
      }
      if (cell.vector >= 0 && cell.next) cell.weight = cell.shadow;
      const int32_t above = r > 0 ? cells_[index(r - 1, c)].sum : 0;
      cell.sum = static_cast<int32_t>(static_cast<uint32_t>(above) +
                                      static_cast<uint32_t>(cell.input) *
                                          static_cast<uint32_t>(cell.weight));
    }
  }
  shift_weights(feed);
  collect();
  ++cycle_;
}

void SystolicArray::collect() {
  for (int c = 0; c < size_; ++c) {
    const Cell& cell = cells_[index(size_ - 1, c)];
    if (cell.vector < 0) continue;
    Result& result = results_[cell.vector - first_result_];
    result.sums[c] = cell.sum;
    ++result.columns;
  }
}

std::vector<std::vector<int32_t>> SystolicArray::take_results() {
  std::vector<std::vector<int32_t>> done;
  while (!results_.empty() && results_.front().columns == size_) {
    done.push_back(std::move(results_.front().sums));
    results_.pop_front();
    ++first_result_;
  }
  return done;
}

SystolicRun run_systolic(int size, std::span<const SystolicBlock> blocks) {
  SystolicArray array(size);
  SystolicRun run;
  const auto n = static_cast<size_t>(size);
  size_t loading = 0;        // the block whose weights are shifted in
  size_t shifted = 0;        // rows of it
  size_t block = 0;          // the block that is fed
  size_t row = 0;            // its next vector
  int64_t waiting = 0;       // vectors inside
  int64_t last_switch = -1;  // cycle in which the current block began
  while (block < blocks.size() || waiting > 0) {
    SystolicArray::Feed feed;
    const auto part = [&](std::span<const int32_t> from, size_t r) {
      return std::vector<int32_t>(from.begin() + static_cast<std::ptrdiff_t>(r * n),
                                  from.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
    };
    const bool loaded = loading > block || (loading == block && shifted == n);
    if (block < blocks.size() && loaded) {
      const SystolicBlock& now = blocks[block];
      feed.vector = part(now.vectors, row);
      feed.next = row == 0;
      if (row == 0) last_switch = array.cycle();
      ++waiting;
      if (++row * n == now.vectors.size()) {
        ++block;
        row = 0;
      }
    }
    if (loading < blocks.size() && shifted == n) {
      // The wave must have passed the last cell before its second weight is replaced.
      const bool in_use = block > loading || (block == loading && row > 0);
      if (in_use && last_switch >= 0 && array.cycle() >= last_switch + 2 * size - 1) {
        ++loading;
        shifted = 0;
      }
    }
    if (loading < blocks.size() && shifted < n) {
      feed.weights = part(blocks[loading].weights, n - 1 - shifted);
      ++shifted;
    }
    array.step(feed);
    for (std::vector<int32_t>& sums : array.take_results()) {
      run.results.insert(run.results.end(), sums.begin(), sums.end());
      --waiting;
    }
  }
  run.cycles = array.cycle();
  return run;
}

}  // namespace systole::tpu_v1
