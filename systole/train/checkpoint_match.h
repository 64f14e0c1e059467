// Which tensor of a checkpoint each variable takes, and what does not fit.
#pragma once

#include <string>
#include <vector>

#include "systole/graph/core/variable.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/session/session.h"

namespace systole {

// Pairs of a name in a checkpoint and a variable. A value type.
class CheckpointMatch {
 public:
  // `advice` ends the error about variables that do not match.
  explicit CheckpointMatch(std::string advice = "") : advice_(std::move(advice)) {}

  void add(std::string key, const Variable& variable) {
    pairs_.push_back({std::move(key), variable});
  }
  size_t size() const { return pairs_.size(); }

  // Reads the values of all variables. Errors: those of reading; NOT_FOUND, before anything is
  // read, if variables are missing or of another type: it counts them and shows the first few.
  std::vector<Tensor> read(const BundleReader& reader) const;
  // Gives the variables what read() gave.
  void set(Session& session, std::vector<Tensor> values) const;
  void restore(Session& session, const BundleReader& reader) const { set(session, read(reader)); }

 private:
  struct Pair {
    std::string key;
    Variable variable;
  };
  void check(const BundleReader& reader) const;

  std::string advice_;
  std::vector<Pair> pairs_;
};

}  // namespace systole
