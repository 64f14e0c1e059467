// The extras beside a checkpoint: the file as it stands, and a file of valid records that hold the
// items of the input.
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/records/tfrecord.h"
#include "systole/train/saver.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  std::string_view bytes = fuzz::text_of(data, size);
  MemoryFileSystem files({{"a.systole", std::string(bytes)}});
  fuzz::may_refuse([&] { read_checkpoint_extras(files, "a"); });
  RecordWriter writer(files, "b.systole");
  writer.write("systole extras 1");
  while (!bytes.empty()) writer.write(fuzz::take_item(bytes));
  writer.close();
  fuzz::may_refuse([&] {
    const CheckpointExtras extras = read_checkpoint_extras(files, "b");
    write_checkpoint_extras(files, "c", extras);
    if (read_checkpoint_extras(files, "c") != extras) __builtin_trap();
  });
  return 0;
}
