// What a stage that reads ahead keeps until its consumer asks: an element or an error. A saved
// state has both: after restoring, the error comes in its place even where its cause is gone by
// then, and is skipped when the consumer asks again; IteratorOptions::keeps_errors may leave it
// out.
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

  // The element. Errors: the error.
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
void save_results(StateWriter& writer, const Results& outcomes) {
  writer.number(outcomes.size());
  for (const Result& outcome : outcomes) outcome.save(writer);
}

// Appends what was saved one after another, behind its number.
template <class Results>
void restore_results(StateReader& reader, Results& outcomes) {
  for (size_t count = reader.count(); count > 0; --count) {
    Result outcome;
    if (reader.flag()) {
      outcome.error = reader.error_ahead("input");
      if (!outcome.error) continue;
    } else {
      outcome.row = reader.row();
    }
    outcomes.push_back(std::move(outcome));
  }
}

// The next element of `input` or the error that it gives; nullopt at the end.
inline std::optional<Result> pull(Stage& input) {
  Result result;
  try {
    if (!input.next(result.row)) return std::nullopt;
  } catch (...) {
    result.error = current_error();
  }
  return result;
}

// What a stage with threads, or one that calls its function for several elements at once, takes in
// a row: as many elements as keep it busy for this long, which is much beside the ten microseconds
// or so that it takes to wake a thread, and little to whoever waits for the first.
using ChunkClock = std::chrono::steady_clock;
inline constexpr auto kChunkTime = std::chrono::microseconds(400);

// Appends elements, `most` at most, until kChunkTime is over or one is an error: that one is the
// last. False when the input has ended.
inline bool pull_chunk(Stage& input, size_t most, std::vector<Result>& chunk) {
  const auto begin = ChunkClock::now();
  while (chunk.size() < most) {
    std::optional<Result> outcome = pull(input);
    if (!outcome) return false;
    chunk.push_back(std::move(*outcome));
    if (chunk.back().error || ChunkClock::now() - begin > kChunkTime) break;
  }
  return true;
}

// The elements of what pull_chunk() gave: an error is none.
inline int64_t elements_in(const std::vector<Result>& chunk) {
  return static_cast<int64_t>(chunk.size()) - (!chunk.empty() && chunk.back().error ? 1 : 0);
}

// Gives each row of a chunk, whose first element is the `index`-th, to `f`, and keeps what that
// makes of it, an error too. Ends early, but not before the first is done, when it is later than
// `until`, and at once when the iterator is cancelled. Returns how many were done.
template <class F>
size_t apply_each(std::span<Result> chunk, int64_t index, const IteratorRoot& root,
                  ChunkClock::time_point until, const F& f) {
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (root.cancelled() || (i > 0 && ChunkClock::now() > until)) return i;
    Result& outcome = chunk[i];
    if (outcome.error) continue;
    try {
      outcome.row = f(std::move(outcome.row), index);
    } catch (...) {
      outcome.error = current_error();
    }
    ++index;
  }
  return chunk.size();
}

}  // namespace systole::data
