// Reads HDF5 files: groups, arrays and attributes of numbers and strings.
//   superblock 0 to 3; object headers 1 and 2; groups as symbol tables or links in the header;
//   arrays compact, contiguous or in chunks (B-tree version 1; deflate, shuffle, fletcher32);
//   integers, IEEE floats of 2, 4 and 8 bytes, strings of fixed or variable length in ASCII or
//   UTF-8, of either byte order.
// Source: HDF5 File Format Specification, version 3.0.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/base/tensor.h"

namespace systole {

namespace hdf5 {
struct Image;
struct Object;
}  // namespace hdf5

// An HDF5 file in memory. Objects are named by paths: "model_weights/dense/kernel:0"; "" or "/" is
// the root group. Not thread-safe. Errors name the file and the object: DATA_LOSS for a damaged
// file, with the byte (an array that claims more bytes than the file has is damaged); NOT_FOUND
// with the nearest names; UNIMPLEMENTED for structures other than those above, soft and external
// links, and external storage.
class Hdf5Reader {
 public:
  // Reads the whole file, of at most 16 GiB.
  Hdf5Reader(FileSystem& file_system, const std::string& path);
  // `name` stands for the file in errors.
  Hdf5Reader(std::string name, std::string bytes);
  ~Hdf5Reader();

  const std::string& name() const;
  bool contains(std::string_view path) const;
  bool is_group(std::string_view path) const;
  // The names in a group, sorted.
  std::vector<std::string> children(std::string_view group) const;

  // Dtype `string` for strings. An array without elements has the shape {0}.
  TensorType type_of(std::string_view array) const;
  Tensor read(std::string_view array) const;

  std::vector<std::string> attribute_names(std::string_view object) const;
  bool has_attribute(std::string_view object, std::string_view name) const;
  Tensor attribute(std::string_view object, std::string_view name) const;
  // The strings of an attribute; none for an array without elements of any dtype, as h5py writes an
  // empty list. Errors: INVALID_ARGUMENT for numbers.
  std::vector<std::string> strings(std::string_view object, std::string_view name) const;
  // The only string of an attribute.
  std::string string(std::string_view object, std::string_view name) const;

 private:
  using Links = std::map<std::string, uint64_t, std::less<>>;

  uint64_t find(std::string_view path) const;
  const Links& links(uint64_t address, std::string_view path) const;
  const hdf5::Object& object(std::string_view path) const;

  std::unique_ptr<hdf5::Image> image_;
  mutable std::map<uint64_t, Links> groups_;                           // parsed so far, by address
  mutable std::map<uint64_t, std::unique_ptr<hdf5::Object>> objects_;  // likewise
};

// Whether these are the first bytes of an HDF5 file (without a user block).
bool looks_like_hdf5(std::string_view bytes);

}  // namespace systole
