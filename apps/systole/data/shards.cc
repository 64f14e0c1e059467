#include "apps/systole/data/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "systole/base/counted.h"
#include "systole/base/log.h"
#include "systole/base/progress.h"
#include "systole/io/records/tfrecord.h"

namespace systole::app {
namespace {

// The description of a conversion, compared before it is continued.
struct Plan {
  int64_t examples = 0;
  int64_t shards = 0;
  std::string compression;
  std::string identity;

  int64_t begin(int64_t shard) const {
    return static_cast<int64_t>(static_cast<__int128>(examples) * shard / shards);
  }
  nlohmann::ordered_json to_json() const {
    return {{"format", "TFRecord of tf.train.Example"},
            {"examples", examples},
            {"shards", shards},
            {"compression", compression},
            {"made_from", identity}};
  }
};

// The size of each shard's file; kNotWritten if it is not known to be complete.
using ShardSizes = std::vector<int64_t>;
constexpr int64_t kNotWritten = -1;
// More files are a number of records or megabytes that was taken for bytes.
constexpr int64_t kMaxShards = 10'000;
constexpr const char* kSizesKey = "shard_bytes";

// The description file.
std::string description_of(const Plan& plan, const ShardSizes& sizes) {
  nlohmann::ordered_json json = plan.to_json();
  json[kSizesKey] = sizes;
  return json.dump(2) + "\n";
}

// The sizes in a description; nothing if it describes another plan.
std::optional<ShardSizes> sizes_in(const std::string& description, const Plan& plan) {
  auto json = nlohmann::ordered_json::parse(description, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto sizes = json.value(kSizesKey, nlohmann::ordered_json());
  json.erase(kSizesKey);
  if (json != plan.to_json()) return std::nullopt;
  const auto count = static_cast<size_t>(plan.shards);
  const bool usable =
      sizes.is_array() && sizes.size() == count &&
      std::ranges::all_of(sizes, [](const auto& size) { return size.is_number_integer(); });
  return usable ? sizes.get<ShardSizes>() : ShardSizes(count, kNotWritten);
}

Plan plan_of(const Split& split, const ShardOptions& options) {
  const uint64_t shard_bytes = std::max<uint64_t>(options.shard_bytes, 1);
  const auto examples = split.source->size();
  const auto wanted = static_cast<int64_t>((split.source->bytes() + shard_bytes - 1) / shard_bytes);
  if (const int64_t shards = std::min(wanted, examples); shards > kMaxShards) {
    throw invalid_argument(
        "{}: shards of '{}', got {} files of {} bytes, expected at most {}: give the bytes of a "
        "shard, as in --shard_size 100MB",
        options.folder, split.name, shards, shard_bytes, kMaxShards);
  }
  return {.examples = examples,
          .shards = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(examples, 1)),
          .compression = std::string(tf_name(options.compression)),
          .identity = split.source->identity()};
}

// The temporary file that a killed conversion left for this name.
bool is_left_of(const std::string& file, const std::string& name) {
  return file.starts_with(name + ".tmp.");
}

constexpr size_t kNumberSize = 14;  // of "00003-of-00010"

// Whether a text begins with a shard number.
bool has_number(std::string_view text) {
  constexpr std::string_view kPattern = "00000-of-00000";
  static_assert(kPattern.size() == kNumberSize);
  const auto fits = [](char pattern, char c) {
    return pattern == '0' ? c >= '0' && c <= '9' : c == pattern;
  };
  return text.size() >= kNumberSize &&
         std::ranges::equal(kPattern, text.substr(0, kNumberSize), fits);
}

// Whether `file` belongs to a split: a shard of any number of shards, or a temporary file of one.
bool is_shard(const std::string& file, const std::string& name) {
  return file.starts_with(name + "-") && has_number(std::string_view(file).substr(name.size() + 1));
}

// The complete shards of a split, of any number of shards. Removes temporary files.
std::vector<std::string> find_shards(FileSystem& fs, const Split& split,
                                     const std::string& folder) {
  std::vector<std::string> shards;
  for (const std::string& file : fs.list(folder)) {
    const bool shard = is_shard(file, split.name);
    const bool left = is_left_of(file, split.name + ".json") ||
                      (shard && file.find(".tmp.") != std::string::npos) ||
                      std::ranges::any_of(split.notes, [&](const auto& note) {
                        return is_left_of(file, note.first);
                      });
    if (left) {
      fs.remove(join_path(folder, file));
    } else if (shard) {
      shards.push_back(file);
    }
  }
  return shards;
}

// The sizes of existing shards.
ShardSizes prepare_folder(FileSystem& fs, const Split& split, const Plan& plan,
                          const ShardOptions& options) {
  fs.make_directories(options.folder);
  const std::string description = join_path(options.folder, split.name + ".json");
  const std::vector<std::string> shards = find_shards(fs, split, options.folder);
  const std::string before = fs.exists(description) ? read_file(fs, description) : "";
  if (auto sizes = sizes_in(before, plan)) return *sizes;
  if (!shards.empty() && !options.force) {
    throw failed_precondition(
        "{}: folder, got {} of '{}' made of other files or with other options, expected "
        "none or those of the same conversion (--force replaces them)",
        options.folder, counted(static_cast<int64_t>(shards.size()), "shard"), split.name);
  }
  // Removes the description first, because shards without a description are not kept.
  if (!before.empty()) fs.remove(description);
  for (const std::string& file : shards) fs.remove(join_path(options.folder, file));
  ShardSizes none(static_cast<size_t>(plan.shards), kNotWritten);
  write_file_atomically(fs, description, description_of(plan, none));
  return none;
}

// Whether a shard exists with its recorded size.
bool is_complete(FileSystem& fs, const std::string& path, int64_t size) {
  if (size == kNotWritten || !fs.exists(path)) return false;
  const auto got = static_cast<int64_t>(fs.stat(path).size);
  if (got == size) return true;
  log_warning("{}: shard, got {} bytes, expected {}: it is written again", path, got, size);
  return false;
}

// Files that describe all splits of a folder, such as a vocabulary, must fit all of them.
void check_notes(FileSystem& fs, const Split& split, const ShardOptions& options) {
  for (const auto& [name, contents] : split.notes) {
    const std::string path = join_path(options.folder, name);
    if (options.force || !fs.exists(path) || read_file(fs, path) == contents) continue;
    throw failed_precondition(
        "{}: file, got one of another conversion, expected none or the same; convert into a folder "
        "of its own (--force replaces it)",
        path);
  }
}

void write_shard(FileSystem& fs, ExampleSource& source, int64_t begin, int64_t end,
                 const std::string& path, Compression compression, Progress& progress) {
  RecordWriter writer(fs, path, {.compression = compression});
  ExampleBuilder builder;
  for (int64_t i = begin; i < end; ++i) {
    builder.clear();
    source.read(i, builder);
    writer.write(builder.serialize());
    progress.add(1);
  }
  writer.close();
}

// Writes shards, and periodically records which are complete. Shards that are not recorded are
// written again.
void write_missing(FileSystem& fs, const Split& split, const Plan& plan,
                   const ShardOptions& options, const std::vector<int64_t>& missing,
                   ShardSizes& sizes, Progress& progress) {
  constexpr int64_t kTimesSaved = 64;
  const int64_t between = (plan.shards + kTimesSaved - 1) / kTimesSaved;
  int64_t unsaved = 0;
  for (const int64_t shard : missing) {
    const std::string path = join_path(options.folder, shard_name(split.name, shard, plan.shards));
    write_shard(fs, *split.source, plan.begin(shard), plan.begin(shard + 1), path,
                options.compression, progress);
    sizes[shard] = static_cast<int64_t>(fs.stat(path).size);
    if (++unsaved < between && shard != missing.back()) continue;
    write_file_atomically(fs, join_path(options.folder, split.name + ".json"),
                          description_of(plan, sizes));
    unsaved = 0;
  }
}

}  // namespace

bool is_shard_name(std::string_view file) {
  // The tensors of a checkpoint are "model.ckpt-7.data-00000-of-00001".
  return file.size() > kNumberSize && has_number(file.substr(file.size() - kNumberSize)) &&
         !file.substr(0, file.size() - kNumberSize).ends_with(".data-");
}

std::string shard_name(const std::string& name, int64_t shard, int64_t shards) {
  return fmt::format("{}-{:05}-of-{:05}", name, shard, shards);
}

ShardReport write_shards(FileSystem& fs, const Split& split, const ShardOptions& options,
                         Clock& clock, const ProgressOptions& progress_options) {
  const Plan plan = plan_of(split, options);
  check_notes(fs, split, options);
  ShardSizes sizes = prepare_folder(fs, split, plan, options);
  for (const auto& [name, contents] : split.notes) {
    write_file_atomically(fs, join_path(options.folder, name), contents);
  }
  ShardReport report{.examples = plan.examples, .shards = plan.shards};
  std::vector<int64_t> missing;
  int64_t already = 0;
  for (int64_t shard = 0; shard < plan.shards; ++shard) {
    const std::string path = join_path(options.folder, shard_name(split.name, shard, plan.shards));
    if (is_complete(fs, path, sizes[shard])) {
      already += plan.begin(shard + 1) - plan.begin(shard);
      ++report.kept;
    } else {
      missing.push_back(shard);
    }
  }
  Progress progress(clock, progress_options.out, progress_options.terminal, split.name,
                    plan.examples, already);
  write_missing(fs, split, plan, options, missing, sizes, progress);
  progress.finish();
  return report;
}

}  // namespace systole::app
