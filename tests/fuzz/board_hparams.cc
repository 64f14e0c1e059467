// Hyperparameters of runs: plugin data, YAML and JSON.
#include "apps/board/hparams.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  const std::string text(fuzz::text_of(data, size));
  std::map<std::string, board::Hparam> hparams;
  fuzz::may_refuse([&] { board::add_hparams(text, hparams); });
  MemoryFileSystem files({{"config.yaml", text}, {"params.json", text}});
  for (const char* path : {"config.yaml", "params.json"}) {
    fuzz::may_refuse([&] { board::add_hparam_file(files, path, hparams); });
  }
  return 0;
}
