#include "systole/io/wire/checksum_trailer.h"

#include <cstring>

#include "systole/base/error.h"
#include "systole/io/wire/crc32c.h"

namespace systole {

void append_checksum_trailer(std::string& bytes, std::string_view mark) {
  const uint32_t crc = mask_crc32c(crc32c(bytes));
  bytes += mark;
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
}

std::string_view checked_without_trailer(std::string_view path, std::string_view bytes,
                                         std::string_view mark) {
  uint32_t stored = 0;
  const size_t size = mark.size() + sizeof(stored);
  if (bytes.size() < size || bytes.substr(bytes.size() - size, mark.size()) != mark) return bytes;
  std::memcpy(&stored, bytes.data() + bytes.size() - sizeof(stored), sizeof(stored));
  bytes.remove_suffix(size);
  if (const uint32_t crc = mask_crc32c(crc32c(bytes)); crc != stored) {
    throw make_error(Code::data_loss,
                     "{}: checksum, got {:08x}, expected {:08x}: the file was damaged or changed "
                     "after it was written",
                     path, crc, stored);
  }
  return bytes;
}

}  // namespace systole
