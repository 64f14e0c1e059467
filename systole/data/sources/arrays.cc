// Slices of arrays in files: IDX and NPY.
#include "systole/data/sources/record_file.h"
#include "systole/io/tables/idx.h"
#include "systole/io/tables/npy.h"

namespace systole {
namespace {

// Bytes to read at once.
constexpr int64_t kBlockBytes = 1 << 20;

class IdxFile final : public data::RecordFile {
 public:
  IdxFile(FileSystem& file_system, const std::string& path) : reader_(file_system, path) {
    const TensorType& type = reader_.type();
    const int64_t row_bytes = data::without_first(type.shape).num_elements() * size_of(type.dtype);
    rows_a_block_ = std::max<int64_t>(1, kBlockBytes / std::max<int64_t>(1, row_bytes));
  }
  bool next(Components& row) override {
    if (!block_.valid() || next_ == block_.dim(0)) {
      if (reader_.position() == reader_.type().shape[0]) return false;
      block_ = reader_.read(rows_a_block_);
      next_ = 0;
    }
    row.assign(1, data::row_of(block_, next_++));
    return true;
  }
  uint64_t offset() const override {
    const int64_t unread = block_.valid() ? block_.dim(0) - next_ : 0;
    return static_cast<uint64_t>(reader_.position() - unread);
  }
  void seek(uint64_t offset) override {
    block_ = Tensor();
    reader_.seek(static_cast<int64_t>(offset));
  }

 private:
  IdxReader reader_;
  int64_t rows_a_block_ = 1;
  Tensor block_;
  int64_t next_ = 0;  // in block_
};

Dataset::NodePtr idx_node(const std::string& path, FileSystem& file_system) {
  const TensorType type = IdxReader(file_system, path).type();
  return data::record_files_node("IdxDataset", FileNames(path).dataset().node(),
                                 TensorType{type.dtype, data::without_first(type.shape)},
                                 [&file_system](const std::string& name) {
                                   return std::make_unique<IdxFile>(file_system, name);
                                 });
}

}  // namespace

IdxDataset::IdxDataset(const std::string& path, FileSystem* file_system)
    : Dataset(idx_node(path, file_system_or_default(file_system))) {}

NpyDataset::NpyDataset(const std::string& path, FileSystem* file_system)
    : Dataset(Dataset::from_tensor_slices(
          Element(read_npy(file_system_or_default(file_system), path)))) {}

}  // namespace systole
