// systole hlo opt: prints an optimised program.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "apps/systole/hlo/hlo_commands.h"
#include "apps/systole/hlo/programs.h"
#include "systole/base/error.h"
#include "systole/base/suggest.h"
#include "systole/hlo/passes/expand_quantized.h"
#include "systole/hlo/passes/expand_small_floats.h"
#include "systole/hlo/passes/fusion.h"
#include "systole/hlo/passes/pipeline.h"
#include "systole/hlo/passes/replica_streams.h"
#include "systole/stablehlo/text/text.h"

namespace systole::app {
namespace {

struct OptOptions {
  std::string file;
  std::vector<std::string> passes;
  bool dump = false;
  bool pretty = false;
};

std::string text_of(const hlo::Module& module, const OptOptions& options) {
  return hlo::print(module, {.pretty = options.pretty});
}

// The passes that --passes accepts: those of the pipeline and those of backends.
hlo::Pipeline named_passes(const hlo::PipelineOptions& options) {
  hlo::Pipeline pipeline = hlo::optimization_pipeline(options);
  pipeline.add<hlo::FusionPass>();
  pipeline.add<hlo::ReplicaStreams>();
  return pipeline;
}

void check_names(const std::vector<std::string>& wanted, const hlo::Pipeline& passes) {
  const std::vector<std::string> names = passes.pass_names();
  for (const std::string& name : wanted) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw not_found("hlo opt: pass, got '{}', expected {}{}", name, fmt::join(names, ", "),
                    did_you_mean(name, names));
  }
}

void run_opt(const OptOptions& options) {
  check_names(options.passes, named_passes({}));
  auto module = read_program(options.file);
  if (hlo::has_quantized_types(*module)) module = hlo::expand_quantized(*module);
  if (hlo::has_small_floats(*module)) module = hlo::expand_small_floats(*module);
  hlo::set_module_printer([](const hlo::Module& changed) { return hlo::print(changed); });
  hlo::PipelineOptions pipeline_options = hlo::PipelineOptions::from_environment();
  pipeline_options.verify = true;
  if (options.dump) {
    pipeline_options.after_change = [&](const hlo::Module& changed, const hlo::PassTiming& pass) {
      fmt::print("// after {}, {:.3f} ms\n{}\n", pass.name, pass.seconds * 1e3,
                 text_of(changed, options));
    };
  }
  if (options.passes.empty()) {
    hlo::optimization_pipeline(pipeline_options).run(*module);
  } else {
    hlo::Pipeline passes = named_passes(pipeline_options);
    for (const std::string& name : options.passes) passes.run_only(name, *module);
  }
  if (!options.dump) fmt::print("{}", text_of(*module, options));
}

}  // namespace

void add_opt_command(CommandLine& line) {
  auto options = std::make_shared<OptOptions>();
  line.option("file", options->file, "StableHLO text or MLIR bytecode; - is standard input")
      .required();
  line.option("--passes", options->passes, "Runs only these passes, in this order; comma-separated")
      .value_name("NAMES")
      .separated_by(',');
  line.flag("--dump", options->dump,
            "Prints the program after each pass that changed it, and the pass's time");
  line.flag("--pretty", options->pretty, "Prints the pretty form of the text");
  line.on_run([options] { run_opt(*options); });
}

}  // namespace systole::app
