// Data sets of files. (tf.data.TFRecordDataset and its siblings)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/data/dataset.h"

namespace systole {

// One name or several, or a data set of names (string scalars), or a tensor of a graph: a scalar or
// a vector (Dataset::parameters). Files are opened one after another when their turn comes.
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
  // Files read at once, each on a thread, a record from each in turn; 0: one after another.
  int64_t num_parallel_reads = 0;
  FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the data set
};

// The records of TFRecord files, string scalars. Errors while running: NOT_FOUND and others of the
// file; DATA_LOSS, with file and offset, for a record that is cut or fails a checksum. A record
// whose data fails is left out when next() is called again. Any other error ends its file, since
// where the next record begins is not known; the next file is read then.
class TFRecordDataset : public Dataset {
 public:
  explicit TFRecordDataset(const FileNames& files, const TFRecordDatasetOptions& options = {});
};

struct TextLineDatasetOptions {
  std::string compression_type;
  int64_t buffer_size = 256 << 10;
  FileSystem* file_system = nullptr;
};

// The lines of text files without their ends (LF or CR LF), string scalars. A line of more than
// 1 GB is RESOURCE_EXHAUSTED.
class TextLineDataset : public Dataset {
 public:
  explicit TextLineDataset(const FileNames& files, const TextLineDatasetOptions& options = {});
};

struct FixedLengthRecordDatasetOptions {
  int64_t header_bytes = 0;  // skipped at the begin of each file
  int64_t footer_bytes = 0;  // left at its end
  std::string compression_type;
  int64_t buffer_size = 256 << 10;
  FileSystem* file_system = nullptr;
};

// Records of `record_bytes`, string scalars. DATA_LOSS when the last one is not whole.
class FixedLengthRecordDataset : public Dataset {
 public:
  FixedLengthRecordDataset(const FileNames& files, int64_t record_bytes,
                           const FixedLengthRecordDatasetOptions& options = {});
};

struct CsvDatasetOptions {
  std::string compression_type;
  int64_t buffer_size = 256 << 10;
  bool header = false;  // the first record of each file is left out
  char field_delim = ',';
  bool use_quote_delim = true;      // "a field, ""quoted"""; false: quotes are as other bytes
  std::string na_value;             // taken for an empty field, besides the empty one
  std::vector<size_t> select_cols;  // ascending; all columns when empty
  FileSystem* file_system = nullptr;
};

// A tuple of scalars for each record. `record_defaults`: for each column that is wanted a tensor of
// its dtype, with one element, the value of an empty field, or with none, where a value is
// required; texts as well as numbers. Errors while running: INVALID_ARGUMENT with file, line and
// column; that record is left out, or what is left of its line where quotes are wrong. Blank lines
// are no records. (tf.contrib.data.CsvDataset)
class CsvDataset : public Dataset {
 public:
  CsvDataset(const FileNames& files, const std::vector<Tensor>& record_defaults,
             const CsvDatasetOptions& options = {});
};

// The rows of an IDX file (MNIST's), compressed by gzip or not; read as they are asked for. Errors:
// those of its header, here.
class IdxDataset : public Dataset {
 public:
  explicit IdxDataset(const std::string& path, FileSystem* file_system = nullptr);
};

// The rows of the array of a numpy .npy file, which is read here.
class NpyDataset : public Dataset {
 public:
  explicit NpyDataset(const std::string& path, FileSystem* file_system = nullptr);
};

}  // namespace systole
