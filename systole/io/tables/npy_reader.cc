#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "systole/base/text.h"
#include "systole/io/tables/npy.h"
#include "systole/io/tables/npy_format.h"

namespace systole {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they are");

constexpr size_t kMaxHeaderBytes = 1U << 20U;

struct Preamble {
  NpyHeader header;
  uint64_t data_offset = 0;
};

Preamble read_preamble(const RandomAccessFile& file) {
  const NpyHeaderText header = read_npy_header_text(file);
  return {.header = parse_npy_header(file.path(), header.text), .data_offset = header.data_offset};
}

// Returns the size of the data, checked against the file's before anything is allocated.
uint64_t checked_data_bytes(const RandomAccessFile& file, const Preamble& preamble) {
  const NpyHeader& header = preamble.header;
  const auto count = static_cast<uint64_t>(header.shape.num_elements());
  uint64_t expected = 0;
  if (__builtin_mul_overflow(count, header.element.size, &expected)) {
    throw invalid_argument("{}: shape, got {}, expected fewer than 2^64 bytes", file.path(),
                           header.shape);
  }
  const uint64_t got = file.size() - preamble.data_offset;
  if (got < expected) {
    throw make_error(Code::data_loss,
                     "{}: file ends early, got {} bytes of data, expected {} for {}", file.path(),
                     got, expected, TensorType{header.element.dtype, header.shape});
  }
  if (got > expected) {
    throw invalid_argument("{}: bytes of data, got {}, expected {} for {}", file.path(), got,
                           expected, TensorType{header.element.dtype, header.shape});
  }
  return expected;
}

// Reverses the bytes of each number of `size` bytes.
void swap_bytes(char* bytes, uint64_t total, size_t size) {
  for (char* end = bytes + total; bytes != end; bytes += size) std::reverse(bytes, bytes + size);
}

// Copies elements of `size` bytes from Fortran's order (first index fastest) to C's.
void transpose(const std::string& from, const Shape& shape, size_t size, char* to) {
  const auto rank = static_cast<size_t>(shape.rank());
  Dims stride(rank, 1);  // in elements of `from`
  for (size_t axis = 1; axis < rank; ++axis) {
    stride[axis] = stride[axis - 1] * shape[static_cast<int>(axis) - 1];
  }
  Dims index(rank, 0);
  int64_t position = 0;
  for (size_t done = 0; done < from.size(); done += size) {
    std::memcpy(to + done, from.data() + static_cast<size_t>(position) * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      position += stride[axis];
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      position -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

std::string utf8_of(const std::string& path, std::string_view utf32) {
  std::string result;
  for (size_t i = 0; i < utf32.size(); i += 4) {
    uint32_t c = 0;
    std::memcpy(&c, utf32.data() + i, 4);
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
      throw invalid_argument("{}: character, got U+{:X}, expected one of Unicode", path, c);
    }
    append_utf8(result, c);
  }
  return result;
}

Tensor strings_of(const std::string& path, const NpyHeader& header, std::string_view data) {
  Tensor result(DType::string, header.shape);
  size_t begin = 0;
  for (std::string& element : result.data<std::string>()) {
    const std::string_view bytes = data.substr(begin, header.element.size);
    begin += header.element.size;
    element = header.element.utf32 ? utf8_of(path, bytes) : std::string(bytes);
    element.resize(element.find_last_not_of('\0') + 1);
  }
  return result;
}

}  // namespace

NpyHeaderText read_npy_header_text(const RandomAccessFile& file) {
  std::array<unsigned char, 12> prefix{};
  read_exactly(file, 0, 8, prefix.data());
  if (std::memcmp(prefix.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    throw invalid_argument("{}: npy file, got other first bytes, expected '\\x93NUMPY'",
                           file.path());
  }
  const int major = prefix[6];
  if (major < 1 || major > 3) {
    throw invalid_argument("{}: npy version, got {}.{}, expected 1.0, 2.0 or 3.0", file.path(),
                           major, prefix[7]);
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  read_exactly(file, 8, length_bytes, prefix.data() + 8);
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | prefix.at(8 + i);
  if (length > kMaxHeaderBytes) {
    throw invalid_argument("{}: npy header, got {} bytes, expected at most {}", file.path(), length,
                           kMaxHeaderBytes);
  }
  std::string text(length, '\0');
  read_exactly(file, 8 + length_bytes, length, text.data());
  return {.text = std::move(text), .data_offset = 8 + length_bytes + length};
}

Tensor read_npy(const RandomAccessFile& file) {
  const Preamble preamble = read_preamble(file);
  const NpyHeader& header = preamble.header;
  const NpyElement& element = header.element;
  const uint64_t size = checked_data_bytes(file, preamble);

  // Reads what cannot be read in place: strings, and elements in Fortran's order.
  const bool strings = element.dtype == DType::string;
  const bool transposed = header.fortran_order && header.shape.rank() > 1;
  Tensor result = strings ? Tensor() : Tensor(element.dtype, header.shape);
  std::string staged(strings || transposed ? size : 0, '\0');
  char* bytes = strings || transposed ? staged.data() : static_cast<char*>(result.raw());
  read_exactly(file, preamble.data_offset, size, bytes);
  if (element.swap) {
    const size_t part = element.utf32               ? 4
                        : is_complex(element.dtype) ? element.size / 2
                                                    : element.size;
    swap_bytes(bytes, size, part);
  }
  if (strings && transposed) {
    std::string ordered(size, '\0');
    transpose(staged, header.shape, element.size, ordered.data());
    staged.swap(ordered);
  }
  if (strings) return strings_of(file.path(), header, staged);
  if (transposed) transpose(staged, header.shape, element.size, static_cast<char*>(result.raw()));
  if (element.dtype == DType::pred) {
    // A bool with a byte other than 0 or 1 is undefined.
    auto* flags = static_cast<unsigned char*>(result.raw());
    std::transform(flags, flags + size, flags, [](unsigned char c) { return c != 0 ? 1 : 0; });
  }
  return result;
}

Tensor read_npy(FileSystem& file_system, const std::string& path) {
  return read_npy(*file_system.open(path));
}

}  // namespace systole
