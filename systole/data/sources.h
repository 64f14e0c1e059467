// Data sets of files. (tf.data.TFRecordDataset and its siblings)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/data/dataset.h"

namespace systole {

// File names: one, several, a data set of string scalars, or a string scalar or vector of a graph
// (Dataset::parameters). Each file is opened when the file before it ends.
class FileNames {
 public:
  FileNames(const char* name) : FileNames(std::string(name)) {}  // NOLINT
  FileNames(std::string name) : FileNames(std::vector{name}) {}  // NOLINT
  FileNames(std::initializer_list<std::string> names)            // NOLINT
      : FileNames(std::vector<std::string>(names)) {}
  FileNames(const std::vector<std::string>& names);  // NOLINT
  FileNames(Dataset names);                          // NOLINT
  FileNames(const Output& names);                    // NOLINT

  // String scalars.
  const Dataset& dataset() const { return names_; }

 private:
  Dataset names_;
};

struct TFRecordDatasetOptions {
  std::string compression_type;     // "", "GZIP" or "ZLIB"
  int64_t buffer_size = 256 << 10;  // bytes read at a time
  // Number of files read at once, each on its own thread, one record in turn from each. 0: one file
  // after another.
  int64_t num_parallel_reads = 0;
  FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the data set
};

// The records of TFRecord files, string scalars. Errors while running: those of the file;
// DATA_LOSS, with file and offset, for a record that is truncated or fails a checksum. After
// damaged data the next call of next() continues with the next record. Any other error ends the
// file, and the next call continues with the next file.
class TFRecordDataset : public Dataset {
 public:
  explicit TFRecordDataset(const FileNames& files, const TFRecordDatasetOptions& options = {});
};

struct TextLineDatasetOptions {
  std::string compression_type;
  int64_t buffer_size = 256 << 10;
  FileSystem* file_system = nullptr;
};

// The lines of text files without their ends (LF or CR LF), string scalars. A line of more than 1
// GB is RESOURCE_EXHAUSTED.
class TextLineDataset : public Dataset {
 public:
  explicit TextLineDataset(const FileNames& files, const TextLineDatasetOptions& options = {});
};

struct FixedLengthRecordDatasetOptions {
  int64_t header_bytes = 0;  // skipped at the start of each file
  int64_t footer_bytes = 0;  // ignored at its end
  std::string compression_type;
  int64_t buffer_size = 256 << 10;
  FileSystem* file_system = nullptr;
};

// Records of `record_bytes`, string scalars. DATA_LOSS if the last one is not whole.
class FixedLengthRecordDataset : public Dataset {
 public:
  FixedLengthRecordDataset(const FileNames& files, int64_t record_bytes,
                           const FixedLengthRecordDatasetOptions& options = {});
};

struct CsvDatasetOptions {
  std::string compression_type;
  int64_t buffer_size = 256 << 10;
  bool header = false;  // skips the first record of each file
  char field_delim = ',';
  bool use_quote_delim = true;      // "a field, ""quoted"""; false: quotes are ordinary bytes
  std::string na_value;             // also an empty field
  std::vector<size_t> select_cols;  // ascending; all columns when empty
  FileSystem* file_system = nullptr;
};

// A tuple of scalars for each record. `record_defaults` has a tensor for each selected column, of
// its dtype: with one element, the value of an empty field, or without elements if a value is
// required. Errors while running: INVALID_ARGUMENT with file, line and column; the next call
// continues with the next record, or, after wrong quotes, the next line. Skips blank lines.
// (tf.contrib.data.CsvDataset)
class CsvDataset : public Dataset {
 public:
  CsvDataset(const FileNames& files, const std::vector<Tensor>& record_defaults,
             const CsvDatasetOptions& options = {});
};

// The rows of an IDX file (MNIST's format), gzipped or not, read on demand. Errors of the header
// are thrown here.
class IdxDataset : public Dataset {
 public:
  explicit IdxDataset(const std::string& path, FileSystem* file_system = nullptr);
};

// The rows of the array of a NumPy .npy file. The file is read here.
class NpyDataset : public Dataset {
 public:
  explicit NpyDataset(const std::string& path, FileSystem* file_system = nullptr);
};

}  // namespace systole
