// Tensor bundles: TensorFlow's checkpoints (V2) and the variables of SavedModels. Format:
// bundle_format.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/base/mutex.h"
#include "systole/base/tensor.h"

namespace systole {

// A part of a tensor: an extent for each dimension.
struct TensorSlice {
  struct Extent {
    int64_t start = 0;
    int64_t length = kUnknown;  // kUnknown: the whole dimension, from start 0

    friend bool operator==(const Extent&, const Extent&) = default;
  };
  std::vector<Extent> extents;

  std::string to_string() const;  // "0,5:-": TensorFlow's spelling
  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;
};

struct BundleEntry {
  std::string dtype_name;  // TensorFlow's: "DT_FLOAT"
  TensorType type;         // dtype `invalid` if it is not supported
  int shard = 0;
  uint64_t offset = 0;  // in bytes
  uint64_t size = 0;    // in bytes
  uint32_t masked_crc32c = 0;
  // The slices of a tensor that was saved in parts, which have their own shard, offset, size and
  // checksum. Otherwise empty.
  std::vector<TensorSlice> slices;
};

// "model.ckpt-7" -> "model.ckpt-7.index" and "model.ckpt-7.data-00000-of-00002".
std::string bundle_index_path(const std::string& prefix);
std::string bundle_data_path(const std::string& prefix, int shard, int num_shards);
bool bundle_exists(FileSystem& file_system, const std::string& prefix);

// Reads the tensors of a bundle. The constructor reads and checks the index; data is read on
// demand. Thread-safe. Errors for damaged files are DATA_LOSS with the file and the reason.
class BundleReader {
 public:
  // `file_system` must outlive the reader. Errors: those of the index file; UNIMPLEMENTED for
  // big-endian bundles, later versions and files of format V1.
  BundleReader(FileSystem& file_system, std::string prefix);
  ~BundleReader();

  const std::string& prefix() const { return prefix_; }
  int num_shards() const { return num_shards_; }
  // By name, sorted.
  const std::map<std::string, BundleEntry, std::less<>>& entries() const { return entries_; }
  std::vector<std::string> keys() const;
  bool contains(std::string_view key) const { return entries_.contains(key); }
  // Errors: NOT_FOUND, with similar names.
  const BundleEntry& entry(std::string_view key) const;
  const TensorType& type_of(std::string_view key) const { return entry(key).type; }

  // Reads a tensor and verifies its checksum. Errors: NOT_FOUND; DATA_LOSS; UNIMPLEMENTED for an
  // unsupported dtype.
  Tensor read(std::string_view key) const;
  // Reads a part of a tensor. Reads the whole tensor from the file.
  Tensor read_slice(std::string_view key, const TensorSlice& slice) const;
  // Reads all tensors. Errors: that of the first damaged one.
  void verify() const;

 private:
  void read_index() SYSTOLE_NO_THREAD_SAFETY_ANALYSIS;  // of the constructor
  void add_entry(const std::string& key, std::string_view bytes);
  const RandomAccessFile& shard(int index) const;
  std::string where(std::string_view key, const BundleEntry& entry) const;
  Tensor read_stored(std::string_view key, const BundleEntry& entry) const;
  Tensor read_numbers(std::string_view key, const BundleEntry& entry) const;
  Tensor read_strings(std::string_view key, const BundleEntry& entry) const;
  Tensor assemble(std::string_view key, const BundleEntry& entry) const;
  void check_crc(std::string_view key, const BundleEntry& entry, uint32_t crc) const;

  FileSystem& file_system_;
  std::string prefix_;
  int num_shards_ = 0;
  std::map<std::string, BundleEntry, std::less<>> entries_;
  std::map<std::string, BundleEntry, std::less<>> parts_;  // by encoded key
  mutable Mutex mutex_;                                    // guards shards_
  mutable std::vector<std::unique_ptr<RandomAccessFile>> shards_ SYSTOLE_GUARDED_BY(mutex_);
};

// Writes a bundle of one shard, with the bytes that TensorFlow writes for the same calls. Stores
// tensors in the order of add(). finish() makes both files appear, the index last; without it
// neither appears.
//
// A bundle that replaces another one of its name has two shards if that one had one, and the second
// is empty. So the old data files stay, and a crash at any time leaves the old bundle or the new
// one. Not thread-safe.
class BundleWriter {
 public:
  // The directory must exist. `file_system` must outlive the writer. Errors: those of creating the
  // file; UNAVAILABLE if it cannot be said whether another bundle is replaced.
  BundleWriter(FileSystem& file_system, std::string prefix);
  ~BundleWriter();

  int num_shards() const { return num_shards_; }

  // Errors: those of the file; ALREADY_EXISTS for a key added before; INVALID_ARGUMENT for an empty
  // key or a dtype that TensorFlow does not have.
  void add(std::string_view key, const Tensor& tensor);
  // Adds one part of a tensor of shape `full_shape`. Add the other parts likewise.
  void add_slice(std::string_view key, const Shape& full_shape, const TensorSlice& slice,
                 const Tensor& tensor);
  void finish();

 private:
  BundleEntry write_tensor(std::string_view key, const Tensor& tensor);
  uint32_t write_strings(const Tensor& tensor);
  void keep(std::string key, const BundleEntry& entry);

  FileSystem& file_system_;
  std::string prefix_;
  int replaced_shards_;  // of the bundle of this name; 0: none
  int num_shards_;
  std::unique_ptr<AtomicFile> data_;
  uint64_t offset_ = 0;
  std::map<std::string, BundleEntry, std::less<>> entries_;  // by key in the index
};

}  // namespace systole
