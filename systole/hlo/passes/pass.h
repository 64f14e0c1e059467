// Passes over a module, and the one place that runs them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// A rewrite of a module that keeps its meaning. Stateless between runs.
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

struct PipelineOptions {
  // Verify before the first and after each pass that changed something. The default from the
  // environment is true in builds with asserts.
  bool verify = false;
  // When not empty: writes NNN.after_<pass>.mlir there for every pass that changed something. The
  // default comes from the environment variable SYSTOLE_DUMP.
  std::string dump_folder;
  // Names of passes not to run; the default comes from SYSTOLE_DISABLE_PASSES, comma-separated.
  std::vector<std::string> disabled;
  // Called after each pass that changed something.
  std::function<void(const Module&, const PassTiming&)> after_change;
  static PipelineOptions from_environment();
};

// A list of passes, run in order. Only this class knows about verification, dumps, timing,
// disabling and fixed points.
class Pipeline {
 public:
  explicit Pipeline(std::string name,
                    PipelineOptions options = PipelineOptions::from_environment());

  template <class P, class... Args>
  Pipeline& add(Args&&... args) {
    steps_.push_back({std::make_unique<P>(std::forward<Args>(args)...), 1, {}});
    return *this;
  }
  // A nested pipeline that repeats until nothing changes, at most `limit` times. It takes over
  // these options.
  Pipeline& add_fixed_point(std::unique_ptr<Pipeline> pipeline, int limit = 10);

  // Returns whether any pass changed anything. Errors: what a pass throws, with "in pass '<name>'"
  // behind it; what the verifier throws, with "before pipeline '<name>'" or "after pass '<name>'".
  bool run(Module& module);
  // Runs the pass of this name alone, once. Returns whether it changed anything. Errors: NOT_FOUND
  // when there is none; those of `run`.
  bool run_only(std::string_view name, Module& module);
  // The names of all passes, nested ones too, each once, in the order of their first run.
  std::vector<std::string> pass_names() const;
  // Of the last run, one row each time a pass ran; those of nested pipelines stand in their place.
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
