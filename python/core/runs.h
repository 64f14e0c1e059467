// Runs of a session that a loop repeats: resolved once, then without a search for the program.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ranks.h"
#include "systole/session/session.h"
#include "values.h"

namespace systole::python {

// The runs that a session repeats. Every function is called under the GIL, which runs release.
class Runs {
 public:
  explicit Runs(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  // Returns the values of the fetches: of a tensor, an operation or a variable alone, or of a list or tuple of these, as
  // that. Feeds are None or a dict with tensors as keys. NotImplemented for other fetches and feeds, which Python takes
  // apart. Errors: those of Session::run; TypeError and ValueError for feeds that do not fit.
  nb::object run(nb::handle fetches, nb::handle feeds);
  // What other runs have in common with these.
  RankedRuns& ranks() { return ranks_; }
  // Lets go of the session. Later runs are FAILED_PRECONDITION.
  void clear() {
    runs_.clear();
    session_.reset();
  }

 private:
  struct Run;
  struct Wanted;

  // The run with these fetches and feeds, if it was run before and no other thread runs it.
  std::shared_ptr<Run> find(const Wanted& wanted);
  static std::vector<Tensor> run_once(Session& session, const Wanted& wanted, std::span<const Tensor> values);

  std::shared_ptr<Session> session_;
  std::vector<std::shared_ptr<Run>> runs_;  // the last used first
  RankedRuns ranks_;
};

// The value of a feed, in the dtype of its key. Errors as TensorFlow's: TypeError, ValueError.
Tensor feed_of(nb::handle value, const Output& key, Keep& keep);
// What a fetch is. Errors: TypeError.
Fetch fetch_of(nb::handle value);
// The tensor that a key of a feed_dict is. Errors: TypeError.
Output key_of(nb::handle key);

}  // namespace systole::python
