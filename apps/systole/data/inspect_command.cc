// systole data inspect: what TFRecord files hold.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/systole/data/data_commands.h"
#include "apps/systole/data/record_summary.h"
#include "apps/systole/data/shards.h"
#include "apps/systole/data/thumbnails.h"
#include "systole/base/escape.h"
#include "systole/base/log.h"
#include "systole/data/dataset.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/images/image.h"
#include "systole/io/images/image_sheet.h"
#include "systole/io/records/tfrecord.h"

namespace systole::app {
namespace {

struct InspectOptions {
  std::vector<std::string> files;
  int64_t limit = std::numeric_limits<int64_t>::max();
  int64_t shown = 0;
  std::string sheet;
  bool json = false;
};

std::string value_text(const FeatureView& feature) {
  constexpr int64_t kMaxValues = 8;
  constexpr size_t kMaxBytes = 60;
  std::string text;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> bytes;
  const auto add = [&](const std::string& value, size_t position) {
    if (position < kMaxValues) text += (position == 0 ? "" : ", ") + value;
    if (position == kMaxValues) text += ", ...";
  };
  if (feature.kind() == FeatureKind::int64s) feature.append_to(ints);
  if (feature.kind() == FeatureKind::floats) feature.append_to(floats);
  if (feature.kind() == FeatureKind::bytes) feature.append_to(bytes);
  for (size_t i = 0; i < ints.size(); ++i) add(fmt::format("{}", ints[i]), i);
  for (size_t i = 0; i < floats.size(); ++i) add(fmt::format("{:g}", floats[i]), i);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::string_view value = bytes[i];
    const bool text_like = std::ranges::all_of(
        value, [](unsigned char c) { return c >= 0x20 || c == '\n' || c == '\t'; });
    add(text_like ? fmt::format("'{}'{}", escaped(value.substr(0, kMaxBytes)),
                                value.size() > kMaxBytes ? "..." : "")
                  : fmt::format("{} bytes", value.size()),
        i);
  }
  return text;
}

void print_record(int64_t number, std::string_view record) {
  fmt::print("record {}: {} bytes\n", number, record.size());
  if (kind_of_record(record) != RecordKind::example) return;
  const ExampleView view(record);
  for (const auto& [key, feature] : view.entries()) {
    std::string text;
    try {
      text = value_text(feature);
    } catch (const Error& error) {  // its values are read here alone
      text = fmt::format("malformed: {}", error.message());
    }
    fmt::print("  {}: {} {}\n", escaped(key), feature_kind_name(feature.kind()), text);
  }
}

void add_thumbnail(std::string_view record, ImageSheet& sheet) {
  if (sheet.full() || kind_of_record(record) != RecordKind::example) return;
  try {
    if (const auto image = image_of(ExampleView(record))) sheet.add(*image);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): malformed values, no image to show
  }
}

void inspect_file(const InspectOptions& options, const std::string& path, RecordSummary& summary,
                  ImageSheet& sheet) {
  auto file = default_file_system().open(path);
  const Compression compression = sniff_record_compression(*file);
  RecordReader reader(std::move(file), {.compression = compression});
  while (summary.records() < options.limit) {
    const auto record = reader.next();
    if (!record) break;
    if (!options.json && summary.records() < options.shown) {
      print_record(summary.records(), *record);
    }
    if (!options.sheet.empty()) add_thumbnail(*record, sheet);
    summary.add(*record);
  }
}

// The shards in a folder.
std::vector<std::string> shards_of(FileSystem& file_system, const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& name : file_system.list(folder)) {
    if (is_shard_name(name)) files.push_back(join_path(folder, name));
  }
  if (!files.empty()) return files;
  throw not_found("{}: shards, got none, expected files such as train-00000-of-00001", folder);
}

// Removes the files that a conversion writes beside its shards (train.json, labels.txt), which
// `records/*` names too.
void remove_descriptions(std::vector<std::string>& files) {
  std::set<std::string> folders;
  for (const std::string& file : files) {
    if (is_shard_name(base_name(file))) folders.insert(parent_path(file));
  }
  std::erase_if(files, [&](const std::string& file) {
    const bool described = file.ends_with(".json") || file.ends_with(".txt");
    if (!described || !folders.contains(parent_path(file))) return false;
    log_info("{}: left out: it describes the shards beside it", file);
    return true;
  });
}

// Returns the files that the names mean: the shards of a folder, and the matches of a pattern that
// is not the name of a file.
std::vector<std::string> record_files(const std::vector<std::string>& names) {
  FileSystem& file_system = default_file_system();
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (name.find_first_of("*?[") != std::string::npos && !file_system.exists(name)) {
      for (const Element& file : Dataset::list_files(name, {.shuffle = false})) {
        files.push_back(file.leaf().item<std::string>());
      }
    } else if (file_system.stat(name).is_directory) {
      for (std::string& file : shards_of(file_system, name)) files.push_back(std::move(file));
    } else {
      files.push_back(name);
    }
  }
  remove_descriptions(files);
  return files;
}

void check_sheet(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.empty() || lower.ends_with(".png")) return;
  const std::string base = base_name(name);
  throw UsageError(
      fmt::format("--sheet: got '{}', expected a name that ends in .png, such as {}.png", name,
                  base.substr(0, base.rfind('.'))));
}

void run_inspect(const InspectOptions& options) {
  check_sheet(options.sheet);
  const std::vector<std::string> files = record_files(options.files);
  RecordSummary summary;
  ImageSheet sheet;
  uint64_t bytes = 0;
  for (const std::string& path : files) {
    bytes += default_file_system().stat(path).size;
    inspect_file(options, path, summary, sheet);
  }
  if (options.json) {
    nlohmann::ordered_json json = {{"files", files}, {"bytes", bytes}};
    json.update(summary.to_json());
    // Names of features are bytes, which JSON may not hold.
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("files     {}, {} bytes\n{}", files.size(), bytes, summary.to_text());
  }
  if (options.sheet.empty()) return;
  if (sheet.empty()) {
    throw failed_precondition("{}: images, got none in the records, expected some", options.sheet);
  }
  write_file_atomically(default_file_system(), options.sheet, encode_png(sheet.sheet()));
}

}  // namespace

void add_inspect_data_command(CommandLine& line) {
  auto options = std::make_shared<InspectOptions>();
  line.option("file", options->files,
              "TFRecord files, plain or compressed, patterns, or folders of shards")
      .required();
  line.option("--limit", options->limit, "Records to read; all by default").positive();
  line.option("--records", options->shown, "Records to print").not_negative();
  line.option("--sheet", options->sheet, "Writes the first images as one PNG file")
      .value_name("FILE.png");
  line.flag("--json", options->json, "Prints JSON");
  line.on_run([options] { run_inspect(*options); });
}

}  // namespace systole::app
