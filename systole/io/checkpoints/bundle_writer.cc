#include <utility>

#include "systole/io/checkpoints/bundle_format.h"
#include "systole/io/checkpoints/table.h"
#include "systole/io/proto/checkpoint.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/io/wire/varint.h"

namespace systole {
namespace {

std::string header_bytes(int num_shards) {
  tensorflow::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  header.mutable_version()->set_producer(kBundleVersion);
  return serialize_message(header);
}

std::string entry_bytes(const BundleEntry& entry) {
  tensorflow::BundleEntryProto message;
  message.set_dtype(static_cast<tensorflow::DataType>(dtype_to_message(entry.type.dtype)));
  shape_to_message(entry.type.shape, *message.mutable_shape());
  message.set_shard_id(entry.shard);
  message.set_offset(static_cast<int64_t>(entry.offset));
  message.set_size(static_cast<int64_t>(entry.size));
  message.set_crc32c(entry.masked_crc32c);
  for (const TensorSlice& slice : entry.slices) {
    tensorflow::TensorSliceProto* to = message.add_slices();
    for (const TensorSlice::Extent& extent : slice.extents) {
      auto* extent_message = to->add_extent();
      if (extent.length == kUnknown) continue;
      extent_message->set_start(extent.start);
      extent_message->set_length(extent.length);
    }
  }
  return serialize_message(message);
}

// Returns the number of shards of an existing bundle, 0 without one that can be read.
int shards_of(FileSystem& file_system, const std::string& prefix) {
  if (!bundle_exists(file_system, prefix)) return 0;
  try {
    return BundleReader(file_system, prefix).num_shards();
  } catch (const Error& error) {
    // A bundle that cannot be read may be replaced in any way. Where the file system does not
    // answer, nobody knows whether it can be.
    if (error.code() == Code::unavailable) throw;
    return 0;
  }
}

}  // namespace

BundleWriter::BundleWriter(FileSystem& file_system, std::string prefix)
    : file_system_(file_system),
      prefix_(std::move(prefix)),
      replaced_shards_(shards_of(file_system, prefix_)),
      num_shards_(replaced_shards_ == 1 ? 2 : 1),
      data_(std::make_unique<AtomicFile>(file_system, bundle_data_path(prefix_, 0, num_shards_))) {}

BundleWriter::~BundleWriter() = default;

uint32_t BundleWriter::write_strings(const Tensor& tensor) {
  std::string lengths;
  uint32_t crc = 0;
  for (const std::string& element : tensor.data<std::string>()) {
    append_varint64(lengths, element.size());
    crc = crc32c_of_length(element.size(), crc);
  }
  const uint32_t masked = mask_crc32c(crc);
  const std::string_view masked_bytes(reinterpret_cast<const char*>(&masked), sizeof masked);
  crc = crc32c(masked_bytes, crc);
  data_->file().append(lengths);
  data_->file().append(masked_bytes);
  offset_ += lengths.size() + masked_bytes.size();
  for (const std::string& element : tensor.data<std::string>()) {
    data_->file().append(element);
    crc = crc32c(element, crc);
    offset_ += element.size();
  }
  return crc;
}

BundleEntry BundleWriter::write_tensor(std::string_view key, const Tensor& tensor) {
  if (key.empty()) {
    throw invalid_argument("{}: name of a tensor, got '', expected one", prefix_);
  }
  dtype_to_message(tensor.dtype());  // throws before anything is written
  BundleEntry entry{.type = tensor.type(), .offset = offset_};
  uint32_t crc = 0;
  if (tensor.dtype() == DType::string) {
    crc = write_strings(tensor);
  } else {
    const std::string_view bytes(static_cast<const char*>(tensor.raw()),
                                 static_cast<size_t>(tensor.byte_size()));
    // Sums and writes in pieces, to read each once from memory.
    constexpr size_t kPart = 256 << 10;
    for (size_t at = 0; at < bytes.size(); at += kPart) {
      const std::string_view part = bytes.substr(at, kPart);
      crc = crc32c(part, crc);
      data_->file().append(part);
    }
    offset_ += bytes.size();
  }
  entry.size = offset_ - entry.offset;
  entry.masked_crc32c = mask_crc32c(crc);
  return entry;
}

void BundleWriter::keep(std::string key, const BundleEntry& entry) {
  entries_.emplace(std::move(key), entry);
}

void BundleWriter::add(std::string_view key, const Tensor& tensor) {
  if (entries_.contains(key)) {
    throw make_error(Code::already_exists, "{}: tensor, got '{}' twice, expected each name once",
                     prefix_, key);
  }
  keep(std::string(key), write_tensor(key, tensor));
}

void BundleWriter::add_slice(std::string_view key, const Shape& full_shape,
                             const TensorSlice& slice, const Tensor& tensor) {
  std::string part = bundle_slice_key(key, slice);
  if (entries_.contains(part)) {
    throw make_error(Code::already_exists, "{}: part of '{}', got {} twice, expected each once",
                     prefix_, key, slice.to_string());
  }
  const BundleEntry written = write_tensor(key, tensor);
  keep(std::move(part), written);
  BundleEntry& whole = entries_[std::string(key)];
  whole.type = {tensor.dtype(), full_shape};
  whole.slices.push_back(slice);
}

void BundleWriter::finish() {
  data_->commit();
  if (num_shards_ == 2) {
    write_file_atomically(file_system_, bundle_data_path(prefix_, 1, num_shards_), "");
  }
  std::vector<TableEntry> table;
  table.push_back({std::string(kBundleHeaderKey), header_bytes(num_shards_)});
  for (const auto& [key, entry] : entries_) table.push_back({key, entry_bytes(entry)});
  write_file_atomically(file_system_, bundle_index_path(prefix_), write_table(table));
  for (int shard = 0; shard < replaced_shards_; ++shard) {
    const std::string path = bundle_data_path(prefix_, shard, replaced_shards_);
    if (file_system_.exists(path)) file_system_.remove(path);
  }
}

}  // namespace systole
