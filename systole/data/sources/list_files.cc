// list_files: names that match patterns (io/file_pattern.h).
#include <algorithm>

#include "systole/data/dataset.h"
#include "systole/data/sources/record_file.h"
#include "systole/io/file_pattern.h"

namespace systole {

Dataset Dataset::list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options) {
  if (patterns.empty()) {
    throw invalid_argument("list_files: patterns, got none, expected at least one");
  }
  FileSystem& file_system = data::file_system_or_local(options.file_system);
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
  Dataset names = from_tensor_slices(Element(Tensor::of<std::string>(Shape{count}, files)));
  if (!options.shuffle) return names;
  return names.shuffle(count, {.seed = options.seed});
}

}  // namespace systole
