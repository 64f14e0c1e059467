#include <fmt/format.h>

#include <algorithm>

#include "systole/io/tables/npy.h"
#include "systole/io/tables/npy_format.h"

namespace systole {
namespace {

// The size of magic, version and length in version 1.0.
constexpr size_t kPrefixBytes = 10;

size_t longest_string(const std::string& path, const Tensor& tensor) {
  size_t longest = 0;
  for (const std::string& element : tensor.data<std::string>()) {
    if (element.ends_with('\0')) {
      throw invalid_argument(
          "{}: string, got one that ends in a zero byte, expected what numpy keeps", path);
    }
    longest = std::max(longest, element.size());
  }
  return longest;
}

std::string npy_header(const std::string& descr, const Shape& shape) {
  std::string sizes;
  for (const int64_t size : shape)
    sizes += fmt::format("{}{}", sizes.empty() ? "" : " ", size) + ",";
  if (shape.rank() > 1) sizes.pop_back();  // Python writes (3,) but (3, 4)
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  const size_t used = kPrefixBytes + header.size() + 1;
  header.append((kNpyAlignment - used % kNpyAlignment) % kNpyAlignment, ' ');
  header += '\n';

  std::string bytes(kNpyMagic);
  bytes += '\1';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header;
}

}  // namespace

void append_npy(WritableFile& file, const std::string& path, const Tensor& tensor) {
  const bool strings = tensor.dtype() == DType::string;
  const size_t longest = strings ? std::max<size_t>(longest_string(path, tensor), 1) : 0;
  const std::string descr = npy_descr(tensor.dtype(), longest);
  if (descr.empty()) {
    throw invalid_argument("{}: dtype, got {}, expected one that numpy has", path, tensor.dtype());
  }
  const std::string header = npy_header(descr, tensor.shape());
  if (header.size() - kPrefixBytes > 0xffff) {
    throw invalid_argument("{}: rank, got {}, expected what fits in an npy header", path,
                           tensor.rank());
  }
  file.append(header);
  if (strings) {
    for (std::string element : tensor.data<std::string>()) {
      element.resize(longest, '\0');
      file.append(element);
    }
  } else {
    file.append({static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.byte_size())});
  }
}

void write_npy(FileSystem& file_system, const std::string& path, const Tensor& tensor) {
  write_file_atomically(file_system, path,
                        [&](WritableFile& file) { append_npy(file, path, tensor); });
}

}  // namespace systole
