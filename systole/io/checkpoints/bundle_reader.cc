#include <algorithm>
#include <cstring>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/base/suggest.h"
#include "systole/base/thread_pool.h"
#include "systole/io/checkpoints/bundle_format.h"
#include "systole/io/checkpoints/slice_copy.h"
#include "systole/io/checkpoints/table.h"
#include "systole/io/proto/checkpoint.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/io/wire/varint.h"

namespace systole {
namespace {

constexpr int kMaxShards = 100000;  // names have five digits
// An entry takes some hundred bytes: this is an index of millions of tensors.
constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30U;

template <class... Args>
Error damaged(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::data_loss, format, std::forward<Args>(args)...);
}

TensorSlice slice_from_message(const tensorflow::TensorSliceProto& message) {
  TensorSlice slice;
  for (const auto& extent : message.extent()) {
    const bool part = extent.has_length_case() == tensorflow::TensorSliceProto::Extent::kLength;
    slice.extents.push_back(part ? TensorSlice::Extent{extent.start(), extent.length()}
                                 : TensorSlice::Extent{});
  }
  return slice;
}

// Reads [offset, offset + size) and returns its checksum. Reads in pieces, so that the checksum
// finds them in the cache.
uint32_t read_and_sum(const RandomAccessFile& file, uint64_t offset, uint64_t size, char* out) {
  constexpr uint64_t kBit = 256 << 10;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < size; at += kBit) {
    const uint64_t bytes = std::min(kBit, size - at);
    read_exactly(file, offset + at, bytes, out + at);
    crc = crc32c({out + at, bytes}, crc);
  }
  return crc;
}

// As read_and_sum, on all threads.
uint32_t read_and_sum_in_parts(const RandomAccessFile& file, uint64_t offset, uint64_t size,
                               char* out) {
  constexpr uint64_t kPart = 8 << 20;
  std::vector<uint32_t> crcs(size / kPart + 1);
  const auto bytes_of = [&](size_t part) { return std::min(kPart, size - part * kPart); };
  ThreadPool::global().parallel_for(
      static_cast<int64_t>(crcs.size()), 1, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
          crcs[i] = read_and_sum(file, offset + i * kPart, bytes_of(i), out + i * kPart);
      });
  uint32_t crc = 0;
  for (size_t i = 0; i < crcs.size(); ++i) crc = crc32c_joined(crc, crcs[i], bytes_of(i));
  return crc;
}

// Maps bytes from a file to valid values of their type.
void normalize(Tensor& tensor) {
  auto* bytes = static_cast<unsigned char*>(tensor.raw());
  const auto count = static_cast<size_t>(tensor.byte_size());
  for (size_t i = 0; i < count && tensor.dtype() == DType::pred; ++i) {
    bytes[i] = static_cast<unsigned char>(bytes[i] != 0);
  }
  if (!is_integer(tensor.dtype()) || dtype_info(tensor.dtype()).bits >= 8) return;
  visit_dtype(tensor.dtype(), [&]<class T>() {
    if constexpr (is_narrow_integer<T>) {
      for (T& element : tensor.data<T>()) element = T(element.value);
    }
  });
}

}  // namespace

BundleReader::BundleReader(FileSystem& file_system, std::string prefix)
    : file_system_(file_system), prefix_(std::move(prefix)) {
  read_index();
}

BundleReader::~BundleReader() = default;

void BundleReader::read_index() {
  const std::string path = bundle_index_path(prefix_);
  if (!file_system_.exists(path) && file_system_.exists(prefix_) &&
      !file_system_.stat(prefix_).is_directory) {
    throw unimplemented(
        "{}: checkpoint, got one file, as TensorFlow's format V1 has, expected {} of format V2",
        prefix_, base_name(path));
  }
  const std::vector<TableEntry> table =
      read_table(path, read_file(file_system_, path, kMaxIndexBytes));
  if (table.empty() || table[0].key != kBundleHeaderKey) {
    throw damaged("{}: first key, got {}, expected the header's", path,
                  table.empty() ? "none" : "another");
  }
  tensorflow::BundleHeaderProto header;
  parse_message(path, table[0].value, header);
  if (header.endianness() != tensorflow::BundleHeaderProto::LITTLE) {
    throw unimplemented("{}: byte order, got big-endian, expected little-endian", path);
  }
  if (header.version().min_consumer() > kBundleVersion) {
    throw unimplemented("{}: version of the bundle, got one for readers of version {}, expected {}",
                        path, header.version().min_consumer(), kBundleVersion);
  }
  if (header.num_shards() < 1 || header.num_shards() >= kMaxShards) {
    throw damaged("{}: shards, got {}, expected 1 to 99999", path, header.num_shards());
  }
  num_shards_ = header.num_shards();
  shards_.resize(static_cast<size_t>(num_shards_));
  for (size_t i = 1; i < table.size(); ++i) add_entry(table[i].key, table[i].value);
}

void BundleReader::add_entry(const std::string& key, std::string_view bytes) {
  const std::string path = bundle_index_path(prefix_);
  const bool part = key[0] == '\0';
  const std::string what = fmt::format("{}: entry '{}'", path, part ? "of a slice" : key);
  tensorflow::BundleEntryProto message;
  parse_message(what, bytes, message);
  const auto shape = shape_from_message(what, message.shape());
  if (!shape || !shape->is_static()) {
    throw damaged("{}: shape, got an unknown one, expected sizes", what);
  }
  if (message.shard_id() < 0 || message.shard_id() >= num_shards_ || message.offset() < 0 ||
      message.size() < 0) {
    throw damaged("{}: place, got {} bytes at {} of shard {}, expected one in {} shards", what,
                  message.size(), message.offset(), message.shard_id(), num_shards_);
  }
  BundleEntry entry{.dtype_name = data_type_name(message.dtype()),
                    .type = {dtype_from_message(message.dtype()), *shape},
                    .shard = message.shard_id(),
                    .offset = static_cast<uint64_t>(message.offset()),
                    .size = static_cast<uint64_t>(message.size()),
                    .masked_crc32c = message.crc32c()};
  for (const auto& slice : message.slices()) {
    entry.slices.push_back(slice_from_message(slice));
    check_slice(what, entry.type.shape, entry.slices.back());
  }
  (part ? parts_ : entries_).emplace(key, std::move(entry));
}

std::vector<std::string> BundleReader::keys() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

const BundleEntry& BundleReader::entry(std::string_view key) const {
  const auto it = entries_.find(key);
  if (it == entries_.end()) {
    throw not_found("{}: tensor, got '{}', expected one of the {} in the checkpoint{}", prefix_,
                    key, entries_.size(), did_you_mean(key, keys()));
  }
  return it->second;
}

const RandomAccessFile& BundleReader::shard(int index) const {
  const MutexLock lock(mutex_);
  auto& file = shards_[index];
  if (file != nullptr) return *file;
  try {
    file = file_system_.open(bundle_data_path(prefix_, index, num_shards_));
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;
    throw damaged("{}; {} names it", error.message(), bundle_index_path(prefix_));
  }
  return *file;
}

std::string BundleReader::where(std::string_view key, const BundleEntry& entry) const {
  return fmt::format("{}: tensor '{}' at byte {}",
                     bundle_data_path(prefix_, entry.shard, num_shards_), key, entry.offset);
}

void BundleReader::check_crc(std::string_view key, const BundleEntry& entry, uint32_t crc) const {
  const uint32_t masked = mask_crc32c(crc);
  if (masked == entry.masked_crc32c) return;
  throw damaged("{}: checksum, got {:#010x}, expected {:#010x}", where(key, entry), masked,
                entry.masked_crc32c);
}

Tensor BundleReader::read_numbers(std::string_view key, const BundleEntry& entry) const {
  uint64_t expected = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(entry.type.shape.num_elements()),
                             static_cast<uint64_t>(size_of(entry.type.dtype)), &expected) ||
      expected != entry.size) {
    throw damaged("{}: size, got {} bytes, expected those of {}", where(key, entry), entry.size,
                  entry.type);
  }
  Tensor result(entry.type);
  check_crc(key, entry,
            read_and_sum_in_parts(shard(entry.shard), entry.offset, entry.size,
                                  static_cast<char*>(result.raw())));
  normalize(result);
  return result;
}

Tensor BundleReader::read_strings(std::string_view key, const BundleEntry& entry) const {
  std::string bytes(entry.size, '\0');
  read_exactly(shard(entry.shard), entry.offset, bytes.size(), bytes.data());
  const auto count = static_cast<uint64_t>(entry.type.shape.num_elements());
  if (count > bytes.size()) {  // each has a length of at least a byte
    throw damaged("{}: size, got {} bytes, expected those of {} strings", where(key, entry),
                  entry.size, count);
  }
  std::string_view rest = bytes;
  std::vector<uint64_t> lengths;
  uint32_t crc = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto length = read_varint64(rest);
    if (!length) throw damaged("{}: length of string {}, got no varint", where(key, entry), i);
    lengths.push_back(*length);
    crc = crc32c_of_length(*length, crc);
  }
  uint32_t masked = 0;
  if (rest.size() < sizeof masked) {
    throw damaged("{}: strings, got too few bytes, expected a checksum", where(key, entry));
  }
  std::memcpy(&masked, rest.data(), sizeof masked);
  if (masked != mask_crc32c(crc)) {
    throw damaged("{}: checksum of the lengths, got {:#010x}, expected {:#010x}", where(key, entry),
                  mask_crc32c(crc), masked);
  }
  check_crc(key, entry, crc32c(rest, crc));
  rest.remove_prefix(sizeof masked);
  Tensor result(entry.type);
  const auto elements = result.data<std::string>();
  for (uint64_t i = 0; i < count; ++i) {
    if (lengths[i] > rest.size()) {
      throw damaged("{}: string {}, got {} bytes, expected {}", where(key, entry), i, rest.size(),
                    lengths[i]);
    }
    elements[i] = rest.substr(0, lengths[i]);
    rest.remove_prefix(lengths[i]);
  }
  return result;
}

Tensor BundleReader::read_stored(std::string_view key, const BundleEntry& entry) const {
  if (entry.type.dtype == DType::invalid || entry.type.dtype == DType::resource) {
    throw unimplemented("{}: dtype, got {}, expected numbers or strings", where(key, entry),
                        entry.dtype_name);
  }
  const uint64_t file_size = shard(entry.shard).size();
  if (entry.offset > file_size || entry.size > file_size - entry.offset) {
    throw damaged("{}: file ends early, got {} bytes, expected {}", where(key, entry), file_size,
                  entry.offset + entry.size);
  }
  return entry.type.dtype == DType::string ? read_strings(key, entry) : read_numbers(key, entry);
}

Tensor BundleReader::assemble(std::string_view key, const BundleEntry& entry) const {
  std::vector<Tensor> parts;
  int64_t elements = 0;
  for (const TensorSlice& slice : entry.slices) {
    const auto it = parts_.find(bundle_slice_key(key, slice));
    if (it == parts_.end()) {
      throw damaged("{}: part {} of '{}', got none, expected it in the index", prefix_,
                    slice.to_string(), key);
    }
    const TensorType type{entry.type.dtype, slice_shape(entry.type.shape, slice)};
    if (it->second.type != type) {
      throw damaged("{}: part {} of '{}', got {}, expected {}", prefix_, slice.to_string(), key,
                    it->second.type, type);
    }
    parts.push_back(read_stored(key, it->second));
    elements += parts.back().num_elements();
  }
  // TensorFlow writes no overlapping parts: as many elements as the whole tensor cover it.
  if (elements != entry.type.shape.num_elements()) {
    throw damaged("{}: parts of '{}', got {} elements, expected the {} of {}", prefix_, key,
                  elements, entry.type.shape.num_elements(), entry.type);
  }
  Tensor whole = Tensor::zeros(entry.type.dtype, entry.type.shape);
  for (size_t i = 0; i < parts.size(); ++i) copy_into_slice(parts[i], entry.slices[i], whole);
  return whole;
}

Tensor BundleReader::read(std::string_view key) const {
  const BundleEntry& found = entry(key);
  return found.slices.empty() ? read_stored(key, found) : assemble(key, found);
}

Tensor BundleReader::read_slice(std::string_view key, const TensorSlice& slice) const {
  const BundleEntry& found = entry(key);
  check_slice(fmt::format("{}: tensor '{}'", prefix_, key), found.type.shape, slice);
  return copy_slice(read(key), slice);
}

void BundleReader::verify() const {
  for (const auto& [key, entry] : entries_) read(key);
}

}  // namespace systole
