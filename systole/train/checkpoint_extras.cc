// The extras of a checkpoint are a TFRecord file (io/records/tfrecord.h):
//   record "systole extras 1", record number of entries in decimal, (record name, record bytes)*
#include "systole/train/checkpoint_extras.h"

#include <charconv>

#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/records/tfrecord.h"

namespace systole {
namespace {

constexpr std::string_view kMark = "systole extras 1";

// Returns the path of the extras of the checkpoint that is there.
std::string extras_path(FileSystem& file_system, const std::string& prefix) {
  const bool exists = bundle_exists(file_system, prefix);
  return checkpoint_extras_path(prefix,
                                exists ? BundleReader(file_system, prefix).num_shards() : 1);
}

std::string next_record(RecordReader& reader) {
  const auto record = reader.next();
  if (!record) {
    throw make_error(Code::data_loss, "{}: file ends early, got {} bytes, expected further records",
                     reader.path(), reader.offset());
  }
  return std::string(*record);
}

}  // namespace

std::string checkpoint_extras_path(const std::string& prefix, int num_shards) {
  return prefix + (num_shards == 2 ? ".systole2" : ".systole");
}

void write_checkpoint_extras(FileSystem& file_system, const std::string& prefix,
                             const CheckpointExtras& extras) {
  write_extras_file(file_system, extras_path(file_system, prefix), extras);
}

void write_extras_file(FileSystem& file_system, const std::string& path,
                       const CheckpointExtras& extras) {
  RecordWriter writer(file_system, path);
  writer.write(kMark);
  writer.write(std::to_string(extras.size()));
  for (const auto& [name, bytes] : extras) {
    writer.write(name);
    writer.write(bytes);
  }
  writer.close();
}

CheckpointExtras read_checkpoint_extras(FileSystem& file_system, const std::string& prefix) {
  CheckpointExtras extras;
  const std::string path = extras_path(file_system, prefix);
  if (!file_system.exists(path)) return extras;
  RecordReader reader(file_system, path);
  if (const std::string mark = next_record(reader); mark != kMark) {
    throw make_error(Code::data_loss, "{}: first record, got {} bytes, expected '{}'",
                     reader.path(), mark.size(), kMark);
  }
  const std::string text = next_record(reader);
  size_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    throw make_error(Code::data_loss, "{}: number of entries, got '{}', expected a number",
                     reader.path(), text);
  }
  for (size_t i = 0; i < count; ++i) {
    std::string name = next_record(reader);
    extras[std::move(name)] = next_record(reader);
  }
  return extras;
}

}  // namespace systole
