#include "systole/train/checkpoint_utils.h"

#include "systole/base/error.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::checkpoint_utils {
namespace {

BundleReader open_checkpoint(const std::string& ckpt_dir_or_file) {
  FileSystem& files = default_file_system();
  if (bundle_exists(files, ckpt_dir_or_file)) return BundleReader(files, ckpt_dir_or_file);
  const std::string latest = latest_checkpoint(files, ckpt_dir_or_file);
  if (latest.empty()) {
    throw not_found("{}: checkpoint, got none, expected a prefix or a folder with one",
                    ckpt_dir_or_file);
  }
  return BundleReader(files, latest);
}

}  // namespace

std::vector<std::pair<std::string, Shape>> list_variables(const std::string& ckpt_dir_or_file) {
  std::vector<std::pair<std::string, Shape>> variables;
  const BundleReader reader = open_checkpoint(ckpt_dir_or_file);
  for (const auto& [name, entry] : reader.entries()) variables.emplace_back(name, entry.type.shape);
  return variables;
}

Tensor load_variable(const std::string& ckpt_dir_or_file, std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  return open_checkpoint(ckpt_dir_or_file).read(name);
}

}  // namespace systole::checkpoint_utils
