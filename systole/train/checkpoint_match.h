// Which tensor of a checkpoint each variable takes, and what does not fit.
#pragma once

#include <string>
#include <vector>

#include "systole/graph/api/variable.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/session/session.h"

namespace systole {

// Pairs of a name in a checkpoint and a variable. A value type.
class CheckpointMatch {
 public:
  void add(std::string key, const Variable& variable) {
    pairs_.push_back({std::move(key), variable});
  }
  size_t size() const { return pairs_.size(); }

  // The values of all. Errors: NOT_FOUND with a line for each variable that is missing or of
  // another type; those of reading.
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

  std::vector<Pair> pairs_;
};

}  // namespace systole
