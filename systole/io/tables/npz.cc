#include "systole/io/tables/npz.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "systole/io/archives/archive_reader.h"
#include "systole/io/tables/npy.h"
#include "systole/io/tables/npy_format.h"
#include "systole/io/tables/pickle.h"

namespace systole {
namespace {

constexpr std::string_view kNpySuffix = ".npy";

// A file whose bytes another keeps.
class BytesFile final : public RandomAccessFile {
 public:
  BytesFile(std::string path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}

  size_t read(uint64_t offset, size_t size, void* out) const override {
    if (offset >= bytes_.size()) return 0;
    const std::string_view part = bytes_.substr(offset, size);
    std::memcpy(out, part.data(), part.size());
    return part.size();
  }
  uint64_t size() const override { return bytes_.size(); }
  const std::string& path() const override { return path_; }

 private:
  std::string path_;
  std::string_view bytes_;
};

std::vector<std::vector<int32_t>> rows_of(const std::string& path, const Tensor& array) {
  if (array.rank() != 2 || !is_integer(array.dtype())) {
    throw invalid_argument("{}: array, got {}, expected lists of integers", path, array.type());
  }
  const Tensor numbers = array.cast(DType::s32);
  std::vector<std::vector<int32_t>> rows;
  for (int64_t i = 0; i < numbers.dim(0); ++i) {
    const Tensor row = numbers.slice(i, i + 1);
    rows.emplace_back(row.data<int32_t>().begin(), row.data<int32_t>().end());
  }
  return rows;
}

}  // namespace

NpzFile::NpzFile(FileSystem& file_system, const std::string& path) : path_(path) {
  ArchiveReader archive(file_system, path);
  while (archive.next()) {
    std::string name = archive.name();
    if (!name.ends_with(kNpySuffix)) continue;
    name.resize(name.size() - kNpySuffix.size());
    members_[name] = archive.read();
  }
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : members_) names.push_back(name);
  return names;
}

const std::string& NpzFile::member(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) {
    throw not_found("{}: array, got no '{}', expected one of: {}", path_, name,
                    fmt::join(names(), ", "));
  }
  return found->second;
}

Tensor NpzFile::array(const std::string& name) const {
  return read_npy(BytesFile(fmt::format("{}({})", path_, name), member(name)));
}

std::vector<std::vector<int32_t>> NpzFile::int_lists(const std::string& name) const {
  const std::string& bytes = member(name);
  const BytesFile file(fmt::format("{}({})", path_, name), bytes);
  const NpyHeaderText header = read_npy_header_text(file);
  if (header.text.find("'|O'") == std::string::npos && header.text.find("'O'") == std::string::npos)
    return rows_of(file.path(), read_npy(file));
  const Pickle pickle(file.path(), std::string_view(bytes).substr(header.data_offset));
  std::vector<std::vector<int32_t>> lists;
  size_t total = 0;
  for (const PickleValue& element : pickle.elements(pickle.root())) {
    lists.push_back(pickle.int_list(element));
    total += lists.back().size();
    // A list that appears many times would let a small file demand any memory.
    if (total > bytes.size()) {
      throw invalid_argument("{}: lists, got more integers than bytes, expected each list once",
                             file.path());
    }
  }
  return lists;
}

}  // namespace systole
