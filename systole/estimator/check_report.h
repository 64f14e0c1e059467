// The result of TPUEstimator::check(): what a TPU would refuse or do differently, and the memory of
// a core that a step needs.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/dtype.h"
#include "systole/base/shape.h"
#include "systole/estimator/mode.h"
#include "systole/tpu_check/compile_report.h"
#include "systole/tpu_check/core_estimate.h"

namespace systole::hlo {
class Module;
}
namespace systole::runtime {
struct CoreMemory;
}
namespace systole::tpu_check {
struct CompileOptions;
}

namespace systole {

// Has Google's compiler for TPUs, libtpu, which the user installs, compile the step: on any
// machine, without a TPU, in a process of its own.
struct TPUCheckOptions {
  Mode mode = Mode::train;
  std::string compile = {};      // the TPU: "v2-8", "v3-8", "v5e-4"...; empty: it is not asked
  std::string tpu_library = {};  // libtpu.so; empty: $TPU_LIBRARY_PATH, or the active environment's
  bool low_effort = false;       // for a verdict rather than a time: a third to a half of the work
  double max_seconds = 1800;
  std::string save = {};  // where to write the executable, which a TPU of that kind loads
};

struct Violation {
  std::string what;   // "dtype f64 of node 'dense/MatMul' at model.cc:12 is not supported on a TPU"
  std::string fix;    // "cast it to f32"
  bool note = false;  // works, but perhaps not as the program expects
};

// One array in a core's memory.
struct TensorMemory {
  std::string what;  // "node 'conv2d/Conv2D' at model.cc:12"
  TensorType type;
  int64_t bytes = 0;
  // The size on a TPU, with the padding of its tiles (runtime/tpu_tiles.h).
  int64_t padded_bytes = 0;
  bool of_step = false;  // an intermediate result
};

// The memory of one core during one step, in padded bytes. An estimate of what Google's compiler
// makes of the step's program (hlo/tpu_model).
struct MemoryReport {
  int64_t limit = 0;       // of the core
  int64_t variables = 0;   // with the optimizer's slots
  int64_t inputs = 0;      // one batch
  int64_t step = 0;        // the maximum of live intermediate results
  int64_t recomputed = 0;  // arrays that are computed again, since they would not fit
  bool complete = true;    // false: there is no program of the step, or some shapes are unknown
  // Up to ten that live throughout, and up to ten of the step's fullest moment, in descending
  // order.
  std::vector<TensorMemory> largest;

  int64_t total() const { return variables + inputs + step; }
  // A table.
  std::string to_string() const;
};

// The program of one core's step, for profile::cost_of. Null if some shape is unknown, or if an
// operation has no lowering.
struct StepProgram {
  std::shared_ptr<const hlo::Module> module;
  int64_t input_bytes = 0;     // of the core's part of a batch
  int64_t gradient_bytes = 0;  // of all trainable variables
  int64_t gradients = 0;       // their number
  int64_t batch_size = 0;      // examples of the core
};

struct CheckReport {
  std::vector<Violation> violations;  // with notes, in the order of the graph; that of memory last
  MemoryReport memory;
  StepProgram step;
  // What Google's compiler says of the step, where it was asked, and what our models say beside it
  // of the same core. The time of the sums over cores is known from the models alone.
  std::optional<tpu_check::CompileReport> compiled;
  std::optional<tpu_check::CoreEstimate> estimate;

  // Estimates the memory of a step for another core.
  void fit_into(const runtime::CoreMemory& core);
  // Asks Google's compiler, and estimates the memory and the time of a step for the same system.
  // Errors: those of tpu_check::compile(); FAILED_PRECONDITION without a program of a step.
  void compile(const tpu_check::CompileOptions& options);

  // What Google's compiler says that our models do not.
  std::vector<std::string> differences() const;
  // True if a TPU would refuse nothing; if it was asked, as Google's compiler says.
  bool ok() const;
  // Text for users: each violation with its fix, then the memory, and what Google's compiler says.
  std::string to_string() const;
  // The same: "ok", "findings", "memory", and where it was asked "compiler", "estimate" and
  // "differences".
  nlohmann::json to_json() const;
};

}  // namespace systole
