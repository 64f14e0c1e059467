// A checksum at the end of files whose formats have none, and whose readers ignore bytes there.
//   file = bytes mark crc      mark := 5 or more bytes that the format determines
//                              crc := u32, masked CRC-32C of bytes, little-endian
// A file without a trailer is read as it is: libhdf5 drops it when it changes a file.
#pragma once

#include <string>
#include <string_view>

namespace systole {

// Appends the trailer.
void append_checksum_trailer(std::string& bytes, std::string_view mark);
// Returns the bytes before the trailer, all if there is none. Errors: DATA_LOSS, with `path`, for
// another checksum.
std::string_view checked_without_trailer(std::string_view path, std::string_view bytes,
                                         std::string_view mark);

// The mark of SavedModels: the key of the last field number, as a fixed32, which no version of the
// message has.
inline constexpr std::string_view kSavedModelChecksumMark{"\xFD\xFF\xFF\xFF\x0F", 5};
// The mark of HDF5 files: behind the end of the file that the superblock states.
inline constexpr std::string_view kHdf5ChecksumMark = "\nsystole crc32c:";

}  // namespace systole
