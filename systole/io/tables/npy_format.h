// The format of .npy files.
//   file    := magic major minor length header data
//   magic   := "\x93NUMPY"          major, minor := u8
//   length  := u16 in version 1, else u32, little-endian: the bytes of header
//   header  := a Python dict literal, then spaces and "\n" so that data starts at a multiple of 64:
//              {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//   data    := the elements
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/file_system.h"
#include "systole/base/shape.h"

namespace systole {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr size_t kNpyAlignment = 64;

struct NpyElement {
  DType dtype = DType::invalid;
  size_t size = 0;     // in bytes
  bool swap = false;   // big-endian
  bool utf32 = false;  // 'U'
};

struct NpyHeader {
  NpyElement element;
  bool fortran_order = false;
  Shape shape;
};

struct NpyHeaderText {
  std::string text;
  uint64_t data_offset = 0;  // in the file
};
// Reads the text of a file's header. Errors: those of read_npy.
NpyHeaderText read_npy_header_text(const RandomAccessFile& file);

// Parses the text of a header. Errors start with `path` and are those of read_npy.
NpyHeader parse_npy_header(const std::string& path, std::string_view text);

// Returns '<f4' and the like; "" for a dtype that NumPy does not have. `string_size` is that of the
// longest string.
std::string npy_descr(DType dtype, size_t string_size);

}  // namespace systole
