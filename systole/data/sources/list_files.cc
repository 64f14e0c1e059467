// list_files: names of files that match patterns (io/file_systems/file_pattern.h).
#include <algorithm>

#include "systole/data/nodes.h"
#include "systole/data/sources/record_file.h"
#include "systole/io/file_systems/file_pattern.h"

namespace systole {

data::NodePtr data::list_files_node(const std::vector<std::string>& patterns,
                                    const ListFilesOptions& options, std::optional<uint64_t> seed) {
  if (patterns.empty()) {
    throw invalid_argument("list_files: patterns, got none, expected at least one");
  }
  FileSystem& file_system = file_system_or_default(options.file_system);
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    std::vector<std::string> found = files_matching(file_system, pattern);
    if (found.empty()) {
      throw not_found("list_files: pattern '{}', got no file, expected at least one", pattern);
    }
    std::ranges::move(found, std::back_inserter(files));
  }
  std::ranges::sort(files);
  const auto count = static_cast<int64_t>(files.size());
  NodePtr names = slices_node(text_spec(), {Tensor::of<std::string>(Shape{count}, files)});
  return options.shuffle ? shuffle_node(names, count, seed, true) : names;
}

Dataset Dataset::list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options) {
  const auto seed = options.shuffle ? data::resolve_seed(options.seed) : std::nullopt;
  return Dataset(data::list_files_node(patterns, options, seed));
}

}  // namespace systole
