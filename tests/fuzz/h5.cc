// Reads all groups, arrays and attributes of an HDF5 file of arbitrary bytes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "systole/base/error.h"
#include "systole/io/hdf5/hdf5_reader.h"

namespace {

// Groups that contain themselves end at this depth; `left` bounds the number of objects.
void read_all(const systole::Hdf5Reader& file, const std::string& path, int depth, int& left) {
  if (depth > 8 || --left < 0) return;
  try {
    for (const std::string& name : file.attribute_names(path)) {
      try {
        file.attribute(path, name);
      } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused
      }
    }
    if (!file.is_group(path)) {
      file.read(path);
      return;
    }
    for (const std::string& name : file.children(path)) {
      read_all(file, fmt::format("{}/{}", path, name), depth + 1, left);
    }
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const systole::Hdf5Reader file("fuzz", std::string(reinterpret_cast<const char*>(data), size));
    int left = 1000;
    read_all(file, "", 0, left);
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused
  }
  return 0;
}
