// systole inspect: what a file holds.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "apps/systole/inspect/curves.h"
#include "apps/systole/inspect/describe.h"
#include "apps/systole/inspect/inspect_commands.h"
#include "apps/systole/inspect/plot.h"
#include "apps/systole/inspect/print.h"
#include "apps/systole/inspect/verify.h"
#include "systole/base/counted.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::app {
namespace {

struct InspectOptions {
  std::string path;
  std::string tensor;
  std::string plot;
  bool json = false;
  bool verify = false;
};

void plot_curves(const InspectOptions& options) {
  if (!options.plot.ends_with(".svg")) {
    throw UsageError(
        fmt::format("--plot, got '{}', expected a name that ends in .svg", options.plot));
  }
  FileSystem& files = default_file_system();
  const std::vector<Curve> curves = read_curves(files, options.path);
  write_file_atomically(files, options.plot, plot_svg(options.path, curves));
  for (const Curve& curve : curves) {
    fmt::print("{}: {}, {} at step {}\n", curve.run, curve.tag, curve.points.rbegin()->second,
               curve.points.rbegin()->first);
  }
  fmt::print("{}: {}\n", options.plot, counted(static_cast<int64_t>(curves.size()), "curve"));
}

void print_verification(FileSystem& files, const FoundFile& file, bool json) {
  const Verification found = verify(files, file);
  if (json) {
    const Json text = {{"path", file.path},
                       {"tensors", found.tensors},
                       {"bytes", found.bytes},
                       {"damaged", found.damaged},
                       {"unproven", found.unproven}};
    fmt::print("{}\n", text.dump(2));
  } else {
    for (const std::string& error : found.damaged) fmt::print("damaged: {}\n", error);
    for (const std::string& reason : found.unproven) fmt::print("not proven: {}\n", reason);
    fmt::print("{}: {}, {} B read and compared with their checksums\n", file.path,
               counted(found.tensors, "tensor"), found.bytes);
  }
  if (found.damaged.empty()) return;
  throw make_error(Code::data_loss, "{}: got {}, expected none", file.path,
                   counted(static_cast<int64_t>(found.damaged.size()), "damaged part"));
}

void inspect(const InspectOptions& options) {
  if (!options.plot.empty()) return plot_curves(options);
  FileSystem& files = default_file_system();
  const FoundFile file = find_file(files, options.path);
  if (options.verify) return print_verification(files, file, options.json);
  if (!options.tensor.empty()) {
    const Tensor tensor = read_tensor(files, file, options.tensor);
    if (options.json) {
      fmt::print("{}\n", to_json(tensor).dump());
    } else {
      fmt::print("{}\n", tensor.to_string());
    }
    return;
  }
  const Json description = describe(files, file);
  fmt::print("{}", options.json ? description.dump(2) + "\n" : readable(description));
}

}  // namespace

void add_inspect_command(CommandLine& line) {
  auto options = std::make_shared<InspectOptions>();
  line.option("path", options->path,
              "A checkpoint (prefix, directory or one of its files), a SavedModel, an event file "
              "or a directory of them, a TFRecord file, a GraphDef, an .mlir, .mlirbc or .npy file")
      .required();
  const CommandLineOption tensor =
      line.option("--tensor", options->tensor, "Prints this tensor of a checkpoint or SavedModel")
          .value_name("NAME");
  const CommandLineOption json = line.flag("--json", options->json, "Prints JSON");
  const CommandLineOption verify =
      line.flag("--verify", options->verify,
                "Reads every byte of a checkpoint or of a SavedModel's variables and compares it "
                "with its checksum; the exit code is 1 if one differs")
          .excludes(tensor);
  line.option("--plot", options->plot,
              "Plots the scalars of the event files in this directory and below, such as "
              "evaluations and other runs")
      .value_name("FILE.svg")
      .excludes(tensor)
      .excludes(json)
      .excludes(verify);
  line.on_run([options] { inspect(*options); });
}

}  // namespace systole::app
