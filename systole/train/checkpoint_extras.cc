// The extras of a checkpoint are a TFRecord file (io/records/tfrecord.h):
//   record "systole extras 1", record number of entries in decimal, (record name, record bytes)*
#include <charconv>

#include "systole/io/records/tfrecord.h"
#include "systole/train/saver.h"

namespace systole {
namespace {

constexpr std::string_view kMark = "systole extras 1";

std::string extras_path(const std::string& prefix) { return prefix + ".systole"; }

std::string next_record(RecordReader& reader) {
  const auto record = reader.next();
  if (!record) {
    throw make_error(Code::data_loss, "{}: file ends early, got {} bytes, expected further records",
                     reader.path(), reader.offset());
  }
  return std::string(*record);
}

}  // namespace

void write_checkpoint_extras(FileSystem& file_system, const std::string& prefix,
                             const CheckpointExtras& extras) {
  RecordWriter writer(file_system, extras_path(prefix));
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
  if (!file_system.exists(extras_path(prefix))) return extras;
  RecordReader reader(file_system, extras_path(prefix));
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
