// Passes over modules, and the pipeline that runs them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Rewrites a module without changing its meaning. Stateless between runs.
class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::string_view name() const = 0;
  // Returns whether it changed anything.
  virtual bool run(Module& module) = 0;
};

struct PassTiming {
  std::string name;
  double seconds = 0;
  bool changed = false;
};

// The text form of dumps, which is above this layer (stablehlo/text). Without one nothing is
// dumped. Thread-safe.
using ModulePrinter = std::string (*)(const Module&);
void set_module_printer(ModulePrinter printer);

struct PipelineOptions {
  // Verify before the first pass and after each pass that changed something. The default of
  // from_environment is true in builds with asserts.
  bool verify = false;
  // If not empty, NNN.after_<pass>.mlir is written to this folder after every pass that changed
  // something. The default is the environment variable SYSTOLE_DUMP.
  std::string dump_folder;
  // Passes to skip. The default is SYSTOLE_DISABLE_PASSES, comma-separated.
  std::vector<std::string> disabled;
  // Called after each pass that changed something.
  std::function<void(const Module&, const PassTiming&)> after_change;
  static PipelineOptions from_environment();
};

// A list of passes, run in order. Verification, dumps, timing, disabling and fixed points are
// implemented here only.
class Pipeline {
 public:
  explicit Pipeline(std::string name,
                    PipelineOptions options = PipelineOptions::from_environment());

  template <class P, class... Args>
  Pipeline& add(Args&&... args) {
    steps_.push_back({std::make_unique<P>(std::forward<Args>(args)...), 1, {}});
    return *this;
  }
  // Adds a nested pipeline that repeats until nothing changes, at most `limit` times. It uses this
  // pipeline's options.
  Pipeline& add_fixed_point(std::unique_ptr<Pipeline> pipeline, int limit = 10);

  // Returns whether any pass changed anything. Errors: those of passes, with "in pass '<name>'"
  // appended; those of the verifier, with "before pipeline '<name>'" or "after pass '<name>'".
  bool run(Module& module);
  // Runs only the pass of this name, once. Returns whether it changed anything. Errors: NOT_FOUND
  // if there is no such pass; those of `run`.
  bool run_only(std::string_view name, Module& module);
  // Returns the names of all passes, nested ones included, without repetitions, in the order of
  // their first run.
  std::vector<std::string> pass_names() const;
  // The timings of the last run, one row per execution of a pass, nested ones in place.
  const std::vector<PassTiming>& timings() const { return timings_; }

 private:
  struct Step {
    std::unique_ptr<Pass> pass;
    int limit;
    std::unique_ptr<Pipeline> nested;
  };
  bool run_steps(Module& module);
  bool run_pass(Pass& pass, Module& module);
  std::vector<Pass*> passes() const;
  bool run_nested(const Step& step, Module& module);

  std::string name_;
  PipelineOptions options_;
  std::vector<Step> steps_;
  std::vector<PassTiming> timings_;
};

}  // namespace systole::hlo
