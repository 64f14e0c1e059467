// The result of a stage that reads ahead: an element or an error, kept until the consumer asks.
// Both are part of a saved state. After restoring, the error is thrown in its place even if its
// cause is gone by then, and the next call skips it. IteratorOptions::keeps_errors = false drops
// it.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "systole/data/stage.h"

namespace systole::data {

struct Result {
  Components row;
  std::optional<Error> error;

  // Returns the element. Errors: the error.
  Components take() {
    if (error) throw Error(*error);
    return std::move(row);
  }
  void save(StateWriter& writer) const {
    writer.flag(error.has_value());
    if (error) {
      writer.error(*error);
    } else {
      writer.row(row);
    }
  }
};

template <class Results>
void save_results(StateWriter& writer, const Results& results) {
  writer.number(results.size());
  for (const Result& result : results) result.save(writer);
}

// Reads what save_results wrote and appends it.
template <class Results>
void restore_results(StateReader& reader, Results& results) {
  for (size_t count = reader.count(); count > 0; --count) {
    Result result;
    if (reader.flag()) {
      result.error = reader.error_ahead("input");
      if (!result.error) continue;
    } else {
      result.row = reader.row();
    }
    results.push_back(std::move(result));
  }
}

// Returns the next element of `input` or its error; nullopt at the end.
inline std::optional<Result> pull(Stage& input) {
  Result result;
  try {
    if (!input.next(result.row)) return std::nullopt;
  } catch (...) {
    result.error = current_error();
  }
  return result;
}

// Stages with threads, and stages that call their function for several elements at once, take
// chunks: as many elements as take this long. Waking a thread takes some ten microseconds, so that
// is small against it; the first element is not delayed noticeably.
using ChunkClock = std::chrono::steady_clock;
inline constexpr auto kChunkTime = std::chrono::microseconds(400);

// Appends up to `most` elements, until kChunkTime is over or one is an error, which is then the
// last. Returns false when the input has ended.
inline bool pull_chunk(Stage& input, size_t most, std::vector<Result>& chunk) {
  const auto begin = ChunkClock::now();
  while (chunk.size() < most) {
    std::optional<Result> result = pull(input);
    if (!result) return false;
    chunk.push_back(std::move(*result));
    if (chunk.back().error || ChunkClock::now() - begin > kChunkTime) break;
  }
  return true;
}

// Returns the number of elements of a chunk without its error.
inline int64_t elements_in(const std::vector<Result>& chunk) {
  return static_cast<int64_t>(chunk.size()) - (!chunk.empty() && chunk.back().error ? 1 : 0);
}

// Calls f(element, index) for each element of a chunk, in place; `index` is that of the first.
// Keeps errors that it throws. Stops after an element that ends later than `until`, and at once if
// the iterator is cancelled. Returns the number of results done.
template <class F>
size_t apply_each(std::span<Result> chunk, int64_t index, const IteratorRoot& root,
                  ChunkClock::time_point until, const F& f) {
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (root.cancelled() || (i > 0 && ChunkClock::now() > until)) return i;
    Result& result = chunk[i];
    if (result.error) continue;
    try {
      result.row = f(std::move(result.row), index);
    } catch (...) {
      result.error = current_error();
    }
    ++index;
  }
  return chunk.size();
}

}  // namespace systole::data
