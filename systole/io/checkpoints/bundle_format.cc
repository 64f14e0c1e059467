#include "systole/io/checkpoints/bundle_format.h"

#include "systole/io/wire/ordered_code.h"

namespace systole {

std::string TensorSlice::to_string() const {
  std::string text;
  for (const Extent& extent : extents) {
    if (!text.empty()) text += ':';
    text += extent.length == kUnknown ? "-" : fmt::format("{},{}", extent.start, extent.length);
  }
  return text;
}

std::string bundle_index_path(const std::string& prefix) { return prefix + ".index"; }

std::string bundle_data_path(const std::string& prefix, int shard, int num_shards) {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix, shard, num_shards);
}

bool bundle_exists(FileSystem& file_system, const std::string& prefix) {
  return file_system.exists(bundle_index_path(prefix));
}

std::string bundle_slice_key(std::string_view name, const TensorSlice& slice) {
  std::string key;
  append_ordered_number(key, 0);
  append_ordered_text(key, name);
  append_ordered_number(key, slice.extents.size());
  for (const TensorSlice::Extent& extent : slice.extents) {
    append_ordered_signed(key, extent.start);
    append_ordered_signed(key, extent.length);
  }
  return key;
}

}  // namespace systole
