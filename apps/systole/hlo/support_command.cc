// systole hlo support: the tables of supported ops in docs/stablehlo.md.
#include <fmt/core.h>

#include "apps/systole/hlo/hlo_commands.h"
#include "apps/systole/hlo/programs.h"
#include "apps/systole/hlo/support.h"
#include "systole/base/error.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::app {
namespace {

struct SupportOptions {
  std::string write;
  std::string check;
};

void run_support(const SupportOptions& options) {
  if (!options.write.empty()) {
    write_file_atomically(default_file_system(), options.write,
                          with_support_tables(read_text(options.write), options.write));
  } else if (!options.check.empty()) {
    const std::string document = read_text(options.check);
    if (with_support_tables(document, options.check) != document) {
      throw failed_precondition(
          "{}: tables, got others than this build's, expected what 'systole hlo support --write "
          "{}' "
          "writes",
          options.check, options.check);
    }
  } else {
    fmt::print("{}", support_tables());
  }
}

}  // namespace

void add_support_command(CommandLine& line) {
  auto options = std::make_shared<SupportOptions>();
  line.option("--write", options->write, "Replaces the tables in this document").value_name("FILE");
  line.option("--check", options->check, "Fails if this document has other tables")
      .value_name("FILE");
  line.on_run([options] { run_support(*options); });
}

}  // namespace systole::app
