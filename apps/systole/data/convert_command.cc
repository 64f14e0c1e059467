// systole data convert: other data into sharded TFRecord files.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "apps/systole/base/output.h"
#include "apps/systole/data/data_commands.h"
#include "apps/systole/data/shards.h"
#include "systole/base/counted.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/local/local_file_system.h"

namespace systole::app {
namespace {

struct Format {
  const char* name;
  const char* summary;
  const char* input;
  std::vector<Split> (*splits)(FileSystem& fs, const SourceOptions& options);
};
constexpr Format kFormats[] = {
    {"idx", "MNIST, Fashion-MNIST: a folder of IDX files, or an images and a labels file",
     "A folder, or two files: images and labels", idx_splits},
    {"csv", "Tables: a feature for each column", "Files; each becomes a split of its name",
     csv_splits},
    {"images", "JPEG and PNG files in a folder for each class", "A folder of folders",
     image_splits},
    {"imdb", "The folder aclImdb of movie reviews", "A folder", imdb_splits},
    {"text", "A text, as sequences of byte numbers", "A file", text_splits},
};

struct ConvertOptions {
  SourceOptions source;
  ShardOptions shards;
  std::string name;
  std::string compression;
  std::string delimiter = ",";
};

// A tab is hard to type: "\\t" is one, too.
char delimiter_of(const std::string& text) {
  if (text == "\\t") return '\t';
  if (text.size() == 1) return text[0];
  throw UsageError(
      fmt::format("--delimiter: got '{}', expected one character, or \\t for a tab", text));
}

// The shards' name stays a name in the folder of -o.
void check_name(const std::string& name) {
  if (name.find('/') == std::string::npos) return;
  throw UsageError(
      fmt::format("--name: got '{}', expected a name without '/' (-o sets the folder)", name));
}

// Creates a folder and locks it against other conversions, until destruction or the end of the
// process. Another conversion would take the files of this one for those of a killed one. The lock
// is on the folder itself, so that no lock file remains; file systems without such locks are not
// locked.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    default_file_system().make_directories(folder);
    const std::optional<std::string> local = local_path(folder);
    if (!local) return;
    file_ = ::open(local->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(file_);
    throw failed_precondition(
        "{}: folder, got one that another conversion writes to, expected one conversion at a time",
        folder);
  }
  ~FolderLock() {
    if (file_ >= 0) ::close(file_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

void run_convert(const Format& format, ConvertOptions& options) {
  options.shards.compression = compression_from_tf(options.compression);
  options.source.csv_delimiter = delimiter_of(options.delimiter);
  check_name(options.name);
  FileSystem& fs = default_file_system();
  std::vector<Split> splits = format.splits(fs, options.source);
  if (!options.name.empty()) {
    if (splits.size() != 1) {
      throw invalid_argument("convert {}: --name, got '{}' for {} splits, expected one split",
                             format.name, options.name, splits.size());
    }
    splits[0].name = options.name;
  }
  const ProgressOptions progress = {.out = is_quiet() ? nullptr : stderr,
                                    .terminal = ::isatty(STDERR_FILENO) != 0};
  const FolderLock lock(options.shards.folder);
  for (const Split& split : splits) {
    const ShardReport report = write_shards(fs, split, options.shards, real_clock(), progress);
    const std::string kept = report.kept == 0 ? ""
                                              : fmt::format(" ({} {} there before)", report.kept,
                                                            report.kept == 1 ? "was" : "were");
    fmt::print("{}: {} in {}{}\n", split.name, counted(report.examples, "example"),
               counted(report.shards, "shard"), kept);
  }
}

void add_format(CommandLine& line, const Format& format) {
  auto options = std::make_shared<ConvertOptions>();
  SourceOptions& source = options->source;
  CommandLine& command = line.command(format.name, format.summary);
  command.option("input", source.inputs, format.input).required();
  command.option("-o,--output", options->shards.folder, "The folder for the shards")
      .value_name("FOLDER")
      .required();
  command
      .option("--name", options->name,
              "Name of the shards, for a single split: NAME-00000-of-00010")
      .value_name("NAME");
  command
      .option("--shard_size", options->shards.shard_bytes,
              "Approximate bytes of a shard, before compression")
      .as_bytes()
      .positive()
      .show_default();
  command
      .option("--compression", options->compression, "Compression of the shards; none by default")
      .one_of({"", "GZIP", "ZLIB"});
  command.flag("--force", options->shards.force, "Replaces shards of another conversion");
  const std::string name = format.name;
  if (name == "images" || name == "imdb") {
    command
        .option("--shuffle_seed", source.shuffle_seed,
                "Seed of the shuffle of examples, which are sorted by class; -1 for no shuffle")
        .show_default();
  }
  if (name == "images") {
    command.flag("--raw", source.raw_images,
                 "Writes decoded pixels: image_raw, label, height, width and depth");
  }
  if (name == "csv") {
    command.flag("--header,!--no-header", source.csv_header,
                 "Whether the first line names the columns (default)");
    command
        .option("--delimiter", options->delimiter, "Field separator, one character; \\t is a tab")
        .value_name("CHAR")
        .show_default();
  }
  if (name == "text") {
    command
        .option("--sequence_length", source.sequence_length,
                "Length of a sequence; each record has one more")
        .show_default();
  }
  command.on_run([&format, options] { run_convert(format, *options); });
}

}  // namespace

void add_convert_command(CommandLine& line) {
  line.require_command();
  for (const Format& format : kFormats) add_format(line, format);
}

}  // namespace systole::app
