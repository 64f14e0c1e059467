// What `systole data convert` makes records of: examples by number, from files of one kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/io/records/example.h"
#include "systole/io/wire/compression.h"

namespace systole::app {

// Examples of one split. Not thread-safe. Errors of all methods: those of the files, and of what is
// in them, by name and place.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  virtual int64_t size() const = 0;
  // Fills an empty builder with example `index`. One after the other is fastest.
  virtual void read(int64_t index, ExampleBuilder& out) = 0;
  // About the bytes of all records: what the number of shards follows from.
  virtual uint64_t bytes();
  // Says what the examples are made of: another text when a file or an option changes.
  virtual std::string identity() const = 0;
};

struct Split {
  std::string name;  // "train"
  std::unique_ptr<ExampleSource> source;
  // Files beside the shards: name and contents ("labels.txt").
  std::vector<std::pair<std::string, std::string>> notes;
};

struct SourceOptions {
  std::vector<std::string> inputs;  // files or folders
  // Images and reviews, which come sorted by class, are shuffled by this; negative: not at all.
  int64_t shuffle_seed = 0;
  bool raw_images = false;  // decoded pixels in place of the files' bytes
  bool csv_header = true;
  char csv_delimiter = ',';
  int64_t sequence_length = 100;  // of text
};

// MNIST and its like: an images and a labels file, or a folder that holds such pairs. Features
// image_raw, label, height, width, depth.
std::vector<Split> idx_splits(FileSystem& fs, const SourceOptions& options);
// A feature for each column: int64 or float when all its fields are, in all files, else bytes, also
// where a whole number does not fit int64. An empty field is a feature that is not there, but in a
// column of bytes an empty text. A warning tells of a column that is bytes for the sake of one text
// ("NA") or of numbers too large alone.
std::vector<Split> csv_splits(FileSystem& fs, const SourceOptions& options);
// A folder with a folder of JPEG and PNG files for each class, or one with such folders named
// train, test and so on. Features image/encoded, image/format, image/class/label, image/class/text,
// image/filename, image/height, image/width, image/channels; with raw_images those of idx_splits.
std::vector<Split> image_splits(FileSystem& fs, const SourceOptions& options);
// aclImdb: train and test, each with neg and pos, of files <id>_<rating>.txt. Features text, label
// (0 is neg), rating, id.
std::vector<Split> imdb_splits(FileSystem& fs, const SourceOptions& options);
// Text by its bytes: feature tokens has sequence_length + 1 numbers, each the position of a byte in
// the sorted list of those that occur (vocabulary.txt). The last of one is the first of the next.
std::vector<Split> text_splits(FileSystem& fs, const SourceOptions& options);

// The bytes of a file; of one that begins as gzip does, those that are compressed in it.
std::unique_ptr<ByteSource> open_unzipped(FileSystem& fs, const std::string& path);
// What a split of one file is called: "t" of "in/t.csv" and of "in/t.csv.gz".
std::string name_of_file(const std::string& path);
// What tells one state of a file from another: path, size and time.
std::string file_identity(FileSystem& fs, const std::string& path);

// Files of folders named by their class, and which class each is of.
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
