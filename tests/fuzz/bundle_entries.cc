// Checkpoints whose index is a valid table of the entries of the input, among them slices: key and
// message of each entry as an item, then the bytes of the data file.
#include <algorithm>
#include <map>

#include "systole/io/checkpoints/bundle_format.h"
#include "systole/io/checkpoints/table.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "tests/fuzz/input.h"

namespace {

using namespace systole;

void read(const BundleReader& reader, const std::string& key) {
  fuzz::may_refuse([&] { (void)reader.read(key); });
  const Shape& shape = reader.type_of(key).shape;
  TensorSlice first;
  first.extents.resize(static_cast<size_t>(shape.rank()), {.start = 0, .length = 1});
  fuzz::may_refuse([&] { (void)reader.read_slice(key, first); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  std::map<std::string, std::string> entries;
  const int count = rest.empty() ? 0 : static_cast<uint8_t>(rest[0]) % 8;
  rest = rest.substr(std::min<size_t>(1, rest.size()));
  for (int i = 0; i < count; ++i) {
    std::string key(fuzz::take_item(rest));
    entries[std::move(key)] = fuzz::take_item(rest);
  }
  std::vector<TableEntry> table;
  for (const auto& [key, value] : entries) table.push_back({key, value});
  MemoryFileSystem files(
      {{"m.index", write_table(table)}, {"m.data-00000-of-00001", std::string(rest)}});
  fuzz::may_refuse([&] {
    const BundleReader reader(files, "m");
    for (const std::string& key : reader.keys()) read(reader, key);
    reader.verify();
  });
  return 0;
}
