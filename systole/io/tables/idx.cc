#include "systole/io/tables/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace systole {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are swapped");

constexpr int64_t kMaxDeflateRatio = 1032;  // what gzip's format can reach
constexpr std::array<std::pair<int, DType>, 6> kTypes = {{{8, DType::u8},
                                                          {9, DType::s8},
                                                          {11, DType::s16},
                                                          {12, DType::s32},
                                                          {13, DType::f32},
                                                          {14, DType::f64}}};

void swap_elements(char* bytes, int64_t count, int size) {
  if (size == 1) return;
  for (int64_t i = 0; i < count; ++i, bytes += size) std::reverse(bytes, bytes + size);
}

// Reads `size` bytes, or fewer at the end.
size_t read_whole(ByteSource& source, size_t size, void* out) {
  size_t done = 0;
  while (done < size) {
    const size_t got = source.read(size - done, static_cast<char*>(out) + done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace

IdxReader::IdxReader(FileSystem& file_system, const std::string& path) {
  auto file = file_system.open(path);
  const uint64_t bytes = file->size();
  const Compression sniffed = sniff_compression(*file);
  const bool compressed = sniffed == Compression::gzip;
  source_ = open_source(std::move(file), compressed ? sniffed : Compression::none);
  read_header(bytes, compressed);
}

void IdxReader::read_header(uint64_t file_bytes, bool compressed) {
  std::array<unsigned char, 4> head{};
  const size_t got = read_whole(*source_, head.size(), head.data());
  if (got < head.size() || head[0] != 0 || head[1] != 0) {
    throw invalid_argument(
        "{}: IDX file, got other first bytes, expected two zeros, a type and a "
        "rank",
        path());
  }
  const auto type = std::ranges::find(kTypes, int{head[2]}, &std::pair<int, DType>::first);
  if (type == kTypes.end()) {
    throw invalid_argument("{}: IDX element type, got {}, expected 8, 9, 11, 12, 13 or 14", path(),
                           head[2]);
  }
  if (head[3] == 0) throw invalid_argument("{}: IDX rank, got 0, expected at least 1", path());
  Dims dims;
  row_bytes_ = size_of(type->second);
  for (int i = 0; i < head[3]; ++i) {
    std::array<unsigned char, 4> size{};
    if (read_whole(*source_, size.size(), size.data()) < size.size()) {
      throw make_error(Code::data_loss, "{}: file ends early, got {} of {} sizes", path(), i,
                       head[3]);
    }
    dims.push_back(int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
    if (i > 0 && __builtin_mul_overflow(row_bytes_, dims.back(), &row_bytes_)) {
      throw invalid_argument("{}: IDX sizes, got 2^63 bytes or more, expected fewer", path());
    }
  }
  type_ = {type->second, Shape(std::move(dims))};
  const auto header_bytes = static_cast<int64_t>(4 + 4 * size_t{head[3]});
  int64_t expected = 0;
  const bool overflow = __builtin_mul_overflow(row_bytes_, type_.shape[0], &expected);
  const int64_t there = compressed ? static_cast<int64_t>(file_bytes) * kMaxDeflateRatio
                                   : static_cast<int64_t>(file_bytes) - header_bytes;
  if (overflow || expected > there) {
    throw make_error(Code::data_loss,
                     "{}: file ends early, got {}{} bytes of data, expected {} for {}", path(),
                     compressed ? "at most " : "", there, expected, type_);
  }
  if (!compressed && expected < there) {
    throw invalid_argument("{}: bytes of data, got {}, expected {} for {}", path(), there, expected,
                           type_);
  }
}

Tensor IdxReader::read(int64_t count) {
  const int64_t rows = std::clamp<int64_t>(count, 0, type_.shape[0] - position_);
  Dims dims(type_.shape.begin(), type_.shape.end());
  dims[0] = rows;
  Tensor tensor(type_.dtype, Shape(std::move(dims)));
  const auto wanted = static_cast<size_t>(tensor.byte_size());
  const size_t got = read_whole(*source_, wanted, tensor.raw());
  if (got < wanted) {
    throw make_error(Code::data_loss,
                     "{}: file ends early, got {} bytes from row {} on, expected {}", path(), got,
                     position_, wanted);
  }
  swap_elements(static_cast<char*>(tensor.raw()), tensor.num_elements(), size_of(type_.dtype));
  position_ += rows;
  char more = 0;
  // Reads on once more: a compressed file ends with a checksum, which only such a read checks.
  if (position_ == type_.shape[0] && rows > 0 && source_->read(1, &more) > 0) {
    throw invalid_argument("{}: bytes of data, got more, expected {} for {}", path(),
                           row_bytes_ * position_, type_);
  }
  return tensor;
}

void IdxReader::seek(int64_t position) {
  if (position < 0 || position > type_.shape[0]) {
    throw make_error(Code::out_of_range, "{}: row, got {}, expected 0 to {}", path(), position,
                     type_.shape[0]);
  }
  source_->seek(static_cast<uint64_t>(4 + 4 * type_.shape.rank() + position * row_bytes_));
  position_ = position;
}

Tensor read_idx(FileSystem& file_system, const std::string& path) {
  IdxReader reader(file_system, path);
  return reader.read(reader.type().shape[0]);
}

void write_idx(FileSystem& file_system, const std::string& path, const Tensor& tensor,
               Compression compression) {
  const auto type = std::ranges::find(kTypes, tensor.dtype(), &std::pair<int, DType>::second);
  if (type == kTypes.end() || tensor.rank() < 1 || tensor.rank() > 255) {
    throw invalid_argument(
        "{}: array, got {}, expected u8, s8, s16, s32, f32 or f64 of rank 1 to 255", path,
        tensor.type());
  }
  std::string bytes = {0, 0, static_cast<char>(type->first), static_cast<char>(tensor.rank())};
  for (const int64_t size : tensor.shape()) {
    if (size > 0xffffffffLL) {
      throw invalid_argument("{}: size, got {}, expected fewer than 2^32", path, size);
    }
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  const size_t header = bytes.size();
  bytes.append(static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.byte_size()));
  swap_elements(bytes.data() + header, tensor.num_elements(), size_of(tensor.dtype()));
  write_file_atomically(file_system, path, [&](WritableFile& file) {
    const auto stream = compress_into(file, compression, path);
    stream->append(bytes);
    stream->close();
  });
}

}  // namespace systole
