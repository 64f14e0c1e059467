// What a stage that reads ahead keeps until its consumer asks: an element or an error. A saved
// state has both: after restoring, the error comes in its place even where its cause is gone by
// then, and is skipped when the consumer asks again; IteratorOptions::keeps_errors may leave it
// out.
#pragma once

#include <optional>

#include "systole/data/stage.h"

namespace systole::data {

struct Outcome {
  Row row;
  std::optional<Error> error;

  // The element. Errors: the error.
  Row take() {
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

template <class Outcomes>
void save_outcomes(StateWriter& writer, const Outcomes& outcomes) {
  writer.number(outcomes.size());
  for (const Outcome& outcome : outcomes) outcome.save(writer);
}

// Appends what was saved one after another, behind its number.
template <class Outcomes>
void restore_outcomes(StateReader& reader, Outcomes& outcomes) {
  for (size_t count = reader.count(); count > 0; --count) {
    Outcome outcome;
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
inline std::optional<Outcome> pull(Stage& input) {
  Outcome result;
  try {
    if (!input.next(result.row)) return std::nullopt;
  } catch (...) {
    result.error = current_error();
  }
  return result;
}

}  // namespace systole::data
