// systole inspect: what a file holds.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "apps/systole/inspect/describe.h"
#include "apps/systole/inspect/inspect_commands.h"
#include "apps/systole/inspect/print.h"
#include "systole/io/local_file_system.h"

namespace systole::app {
namespace {

struct InspectOptions {
  std::string path;
  std::string tensor;
  bool json = false;
};

void inspect(const InspectOptions& options) {
  FileSystem& files = local_file_system();
  const FoundFile file = find_file(files, options.path);
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
              "A checkpoint (a file of it, its prefix, or its directory), a SavedModel, an event "
              "file, a TFRecord file, a GraphDef, an .mlir or .npy file")
      .required();
  line.option("--tensor", options->tensor, "Prints this tensor of a checkpoint or SavedModel");
  line.flag("--json", options->json, "Prints JSON");
  line.on_run([options] { inspect(*options); });
}

}  // namespace systole::app
