// The input of `systole data convert`: examples by number, from files of one kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/wire/compression.h"

namespace systole::app {

// Examples of one split. Not thread-safe. Errors of all methods: those of the files and their
// contents, with name and place.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  virtual int64_t size() const = 0;
  // Fills an empty builder with example `index`. Ascending order is fastest.
  virtual void read(int64_t index, ExampleBuilder& out) = 0;
  // Approximate bytes of all records, which decide the number of shards.
  virtual uint64_t bytes();
  // Identifies the files and options; another text means that a conversion cannot be continued.
  virtual std::string identity() const = 0;
};

struct Split {
  std::string name;  // "train"
  std::unique_ptr<ExampleSource> source;
  // Files to write with the shards: name and contents ("labels.txt").
  std::vector<std::pair<std::string, std::string>> notes;
};

struct SourceOptions {
  std::vector<std::string> inputs;  // files or folders
  // Seed of the shuffle of images and reviews, which are sorted by class; negative for no shuffle.
  int64_t shuffle_seed = 0;
  bool raw_images = false;  // decoded pixels in place of the files' bytes
  bool csv_header = true;
  char csv_delimiter = ',';
  int64_t sequence_length = 100;  // of text
};

// MNIST and its like: an images and a labels file, or a folder that holds such pairs. Features
// image_raw, label, height, width, depth.
std::vector<Split> idx_splits(FileSystem& fs, const SourceOptions& options);
// A feature for each column: int64 or float if all its fields are, in all files, else bytes; also
// bytes if an integer does not fit int64. An empty field is a missing feature, in a column of bytes
// an empty text. A warning names a column that is bytes only because of one text ("NA") or of
// numbers that are too large.
std::vector<Split> csv_splits(FileSystem& fs, const SourceOptions& options);
// A folder with a folder of JPEG and PNG files for each class, or one with such folders named
// train, test and so on. Features image/encoded, image/format, image/class/label, image/class/text,
// image/filename, image/height, image/width, image/channels; with raw_images those of idx_splits.
std::vector<Split> image_splits(FileSystem& fs, const SourceOptions& options);
// aclImdb: train and test, each with neg and pos, of files <id>_<rating>.txt. Features text, label
// (0 is neg), rating, id.
std::vector<Split> imdb_splits(FileSystem& fs, const SourceOptions& options);
// Text as bytes: feature tokens has sequence_length + 1 numbers, each the index of a byte in the
// sorted vocabulary (vocabulary.txt). The last number of a record is the first of the next.
std::vector<Split> text_splits(FileSystem& fs, const SourceOptions& options);

// The bytes of a file, decompressed if it is gzip.
std::unique_ptr<ByteSource> open_unzipped(FileSystem& fs, const std::string& path);
// The split name of a file: "t" for "in/t.csv" and "in/t.csv.gz".
std::string name_of_file(const std::string& path);
// Identifies the state of a file: path, size and time.
std::string file_identity(FileSystem& fs, const std::string& path);

// Files in class folders, and the class of each.
struct ClassFile {
  std::string path;
  int64_t label = 0;
};
struct ClassFiles {
  std::vector<std::string> classes;  // sorted
  std::vector<ClassFile> files;      // sorted, or shuffled by a seed that is not negative
  uint64_t bytes = 0;
  std::string identity;
};
// Files whose names end in one of `endings` (in upper or lower case); a warning tells of others, of
// folders in those of classes and of such files beside these, unless their names begin with a dot.
// Errors: INVALID_ARGUMENT when there are no folders or one has no such file.
ClassFiles list_class_files(FileSystem& fs, const std::string& folder,
                            const std::vector<std::string>& classes,
                            const std::vector<std::string>& endings, int64_t shuffle_seed);
// The folders in a folder, sorted.
std::vector<std::string> folders_in(FileSystem& fs, const std::string& folder);

// Errors: INVALID_ARGUMENT when two have one name, and one would take the place of the other.
void check_split_names(std::string_view format, const std::vector<Split>& splits);

// The one input. Errors: INVALID_ARGUMENT when there are more or none.
const std::string& single_input(const SourceOptions& options, std::string_view format);

}  // namespace systole::app
