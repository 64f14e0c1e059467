// The file `checkpoint` of a directory with checkpoints.
#include "systole/io/checkpoints/checkpoint_state.h"

#include "systole/base/log.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  set_log_level(LogLevel::off);
  MemoryFileSystem files({{"d/checkpoint", std::string(fuzz::text_of(data, size))},
                          {"d/m-1.index", ""},
                          {"d/m-1.data-00000-of-00001", ""},
                          {"d/m-2.index", ""},
                          {"e/m-3.index", ""}});
  fuzz::may_refuse([&] {
    const auto state = read_checkpoint_state(files, "d");
    write_checkpoint_state(files, "d", *state);
    const auto again = read_checkpoint_state(files, "d");
    if (again->all_model_checkpoint_paths.size() != state->all_model_checkpoint_paths.size()) {
      __builtin_trap();
    }
  });
  fuzz::may_refuse([&] { (void)find_checkpoints(files, "d"); });
  return 0;
}
