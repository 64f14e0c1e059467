// Text is read as records, with a header and without; every field as a string and as a number.
#include "systole/io/tables/csv.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "systole/base/error.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace {

void read(systole::FileSystem& fs, bool header) {
  systole::CsvReader reader(fs.open("f"), {.header = header, .max_record_bytes = 1U << 16U});
  systole::CsvRecord record;
  systole::Tensor number(systole::DType::f32, {1});
  while (reader.next(record)) {
    for (size_t i = 0; i < record.size(); ++i) {
      try {
        reader.parse(record, i, number, 0);
      } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): no number, as it may be
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  systole::MemoryFileSystem fs({{"f", std::string(reinterpret_cast<const char*>(data), size)}});
  for (const bool header : {false, true}) {
    try {
      read(fs, header);
    } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused, as it may be
    }
  }
  return 0;
}
