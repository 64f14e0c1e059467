#include "apps/systole/data/example_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "systole/base/log.h"
#include "systole/base/random.h"
#include "systole/io/wire/crc32c.h"

namespace systole::app {
namespace {

constexpr int64_t kSampled = 64;
constexpr uint64_t kRecordOverhead = 16;

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool ends_in_one_of(const std::string& name, const std::vector<std::string>& endings) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(endings,
                             [&](const std::string& ending) { return lower.ends_with(ending); });
}

// The files of a folder that would be examples if they lay in the folder of a class.
std::vector<std::string> files_of_no_class(FileSystem& fs, const std::string& folder,
                                           const std::vector<std::string>& endings) {
  std::vector<std::string> paths;
  for (const std::string& name : fs.list(folder)) {
    const std::string path = join_path(folder, name);
    const bool example = !name.starts_with('.') && ends_in_one_of(name, endings);
    if (example && !fs.stat(path).is_directory) paths.push_back(path);
  }
  return paths;
}

}  // namespace

uint64_t ExampleSource::bytes() {
  const int64_t sampled = std::min(size(), kSampled);
  uint64_t bytes = 0;
  ExampleBuilder builder;
  for (int64_t i = 0; i < sampled; ++i) {
    builder.clear();
    read(i, builder);
    bytes += builder.serialize().size() + kRecordOverhead;
  }
  if (sampled == 0) return 0;
  return bytes * static_cast<uint64_t>(size()) / static_cast<uint64_t>(sampled);
}

std::unique_ptr<ByteSource> open_unzipped(FileSystem& fs, const std::string& path) {
  auto file = fs.open(path);
  const bool zipped = sniff_compression(*file) == Compression::gzip;
  return open_source(std::move(file), zipped ? Compression::gzip : Compression::none);
}

std::string name_of_file(const std::string& path) {
  std::string name = base_name(path);
  if (lower_case(name).ends_with(".gz") && name.size() > 3) name.resize(name.size() - 3);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

std::string file_identity(FileSystem& fs, const std::string& path) {
  const FileStat stat = fs.stat(path);
  return fmt::format("{} {} {}", path, stat.size, stat.modified_ns);
}

std::vector<std::string> folders_in(FileSystem& fs, const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& name : fs.list(folder)) {
    if (!name.starts_with('.') && fs.stat(join_path(folder, name)).is_directory) {
      names.push_back(name);
    }
  }
  return names;
}

ClassFiles list_class_files(FileSystem& fs, const std::string& folder,
                            const std::vector<std::string>& classes,
                            const std::vector<std::string>& endings, int64_t shuffle_seed) {
  ClassFiles result{.classes = classes};
  std::vector<std::string> left_out;
  uint32_t sum = 0;
  for (size_t label = 0; label < classes.size(); ++label) {
    const std::string class_folder = join_path(folder, classes[label]);
    const size_t before = result.files.size();
    for (const std::string& name : fs.list(class_folder)) {
      const std::string path = join_path(class_folder, name);
      if (!ends_in_one_of(name, endings)) {
        if (!name.starts_with('.')) left_out.push_back(path);
        continue;
      }
      const FileStat stat = fs.stat(path);
      result.files.push_back({.path = path, .label = static_cast<int64_t>(label)});
      result.bytes += stat.size;
      sum = crc32c(fmt::format("{} {} {};", path, stat.size, stat.modified_ns), sum);
    }
    if (result.files.size() == before) {
      throw invalid_argument("{}: files of class '{}', got none, expected some that end in {}",
                             class_folder, classes[label], fmt::join(endings, " or "));
    }
  }
  if (result.files.empty()) {
    throw invalid_argument("{}: folders, got none, expected one for each class", folder);
  }
  if (!left_out.empty()) {
    log_warning("{}: left out what does not end in {}: {} ({} in all)", folder,
                fmt::join(endings, " or "), left_out.front(), left_out.size());
  }
  const std::vector<std::string> beside = files_of_no_class(fs, folder, endings);
  if (!beside.empty()) {
    log_warning("{}: left out files beside the folders of classes: {} ({} in all)", folder,
                beside.front(), beside.size());
  }
  if (shuffle_seed >= 0) {
    RandomStream random(static_cast<uint64_t>(shuffle_seed));
    for (size_t i = result.files.size(); i > 1; --i) {
      std::swap(result.files[i - 1], result.files[random.next_below(i)]);
    }
  }
  result.identity = fmt::format("{} {} files {:08x} seed {}", folder, result.files.size(), sum,
                                std::max<int64_t>(shuffle_seed, -1));
  return result;
}

void check_split_names(std::string_view format, const std::vector<Split>& splits) {
  for (size_t i = 0; i < splits.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (splits[i].name != splits[j].name) continue;
      throw invalid_argument(
          "convert {}: names of splits, got '{}' twice ({}; {}), expected different ones: convert "
          "them one after the other, with --name or into other folders",
          format, splits[i].name, splits[j].source->identity(), splits[i].source->identity());
    }
  }
}

const std::string& single_input(const SourceOptions& options, std::string_view format) {
  if (options.inputs.size() != 1) {
    throw invalid_argument("convert {}: inputs, got {}, expected one", format,
                           options.inputs.size());
  }
  return options.inputs[0];
}

}  // namespace systole::app
