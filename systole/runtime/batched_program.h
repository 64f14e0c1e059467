// A program of one batch size, run on any number of examples.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::runtime {

// All parameters and results of main have the batch as their first dimension. Runs one batch after
// the other; the last is filled up with zeros, whose results are dropped. Thread-safe.
class BatchedProgram {
 public:
  // `client` outlives it. Errors: INVALID_ARGUMENT for a main without parameters or whose
  // parameters and results have other first dimensions than the first parameter; those of
  // Client::compile().
  BatchedProgram(Client& client, const hlo::Module& module, const CompileOptions& options = {});

  int64_t batch() const { return batch_; }
  const Executable& executable() const { return *executable_; }

  // Takes a tensor for each parameter and returns one for each result: [examples, ...]. Errors:
  // INVALID_ARGUMENT for tensors of another number, type, shape or number of examples; those of
  // the program.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;

 private:
  int64_t examples_of(std::span<const Tensor> inputs) const;

  std::unique_ptr<Executable> executable_;
  int64_t batch_ = 0;
};

}  // namespace systole::runtime
