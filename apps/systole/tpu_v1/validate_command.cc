// systole tpu-v1 validate: our figures beside the paper's.
#include "apps/systole/tpu_v1/tpu_v1_commands.h"
#include "systole/backends/tpu_v1/validation/validation.h"

namespace systole::app {

void add_tpu_v1_validate_command(CommandLine& line) {
  line.on_run([] {
    const std::vector<tpu_v1::Figure> figures = tpu_v1::validation_figures();
    write_text("", tpu_v1::validation_table(figures));
    for (const tpu_v1::Figure& figure : figures) {
      if (!figure.reached()) throw ExitStatus{1};
    }
  });
}

}  // namespace systole::app
