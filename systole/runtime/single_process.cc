#include "systole/runtime/single_process.h"

#include "systole/base/error.h"
#include "systole/runtime/process_group.h"

namespace systole::runtime {

void check_single_process(std::string_view platform, const CompileOptions& options) {
  if (options.processes == nullptr || options.processes->size() == 1) return;
  throw unimplemented(
      "{}: processes of a program, got {}, expected 1: only the cpu backend, on this machine, adds "
      "up over processes",
      platform, options.processes->size());
}

}  // namespace systole::runtime
