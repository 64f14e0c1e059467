// The structures of HDF5 files, as far as the reader knows them. Addresses count from the
// superblock. Every access is checked against the end of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::hdf5 {

inline constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
inline constexpr uint64_t kUndefined = ~uint64_t{0};
// deflate makes at most 1032 bytes of one.
inline constexpr uint64_t kMaxInflation = 1032;

struct Image {
  std::string name;
  std::string bytes;  // from the superblock on
  uint64_t root = 0;  // address of the root group's header

  // `size` bytes at `address`. Errors: DATA_LOSS when they are not all in the file.
  std::string_view range(uint64_t address, uint64_t size, std::string_view what) const;
  Error damaged(uint64_t address, std::string_view what) const;
};

// Reads little-endian numbers from a range of an image.
class Cursor {
 public:
  Cursor(const Image& image, std::string_view range, std::string_view what)
      : image_(image), range_(range), what_(what) {}
  Cursor(const Image& image, uint64_t address, uint64_t size, std::string_view what)
      : Cursor(image, image.range(address, size, what), what) {}

  uint64_t number(size_t bytes);
  uint64_t address() { return number(8); }
  std::string_view take(uint64_t bytes);
  void skip(uint64_t bytes) { take(bytes); }
  // Errors: DATA_LOSS unless the next bytes are `text`.
  void expect(std::string_view text);
  size_t left() const { return range_.size() - at_; }
  size_t at() const { return at_; }
  Error damaged(std::string_view problem) const;
  Error unknown(std::string_view structure, uint64_t version) const;
  const Image& image() const { return image_; }

 private:
  const Image& image_;
  std::string_view range_;
  std::string_view what_;
  size_t at_ = 0;
};

// An element type.
struct Datatype {
  enum class Kind : uint8_t { number, fixed_string, variable_string, other };
  enum class Padding : uint8_t { null_terminated, null_padded, space_padded };
  Kind kind = Kind::other;
  DType dtype = DType::invalid;  // `string` for both kinds of strings
  uint64_t size = 0;             // of an element in the file, in bytes
  bool big_endian = false;
  Padding padding = Padding::null_terminated;
  int type_class = 0;  // for errors
};

// Sizes of an array.
struct Dataspace {
  Shape shape;            // {} for a scalar; {0} for no elements at all
  uint64_t elements = 0;  // never more than fit the address space
};

struct Attribute {
  std::string name;
  Datatype type;
  Dataspace space;
  std::string_view data;
};

struct Filter {
  enum Id : uint16_t { deflate = 1, shuffle = 2, fletcher32 = 3 };
  uint16_t id = 0;
};

struct Layout {
  enum class Kind : uint8_t { compact, contiguous, chunked };
  Kind kind = Kind::contiguous;
  std::string_view data;        // compact
  uint64_t address = 0;         // contiguous: of the bytes; chunked: of the B-tree
  uint64_t size = 0;            // contiguous
  std::vector<uint64_t> chunk;  // elements of a chunk along each axis
};

// A link of a group that keeps them in its header.
struct Link {
  std::string name;
  uint64_t address = kUndefined;  // undefined: not a hard link
};

// What the header of an object says.
struct Object {
  uint64_t address = 0;
  std::vector<Attribute> attributes;
  std::optional<Datatype> type;
  std::optional<Dataspace> space;
  std::optional<Layout> layout;
  std::vector<Filter> filters;
  std::vector<Link> links;
  bool has_symbol_table = false;
  uint64_t tree = 0;  // of a group as symbol table
  uint64_t heap = 0;
  bool group_of_links = false;
  bool external = false;          // the bytes are in other files
  bool dense_attributes = false;  // attributes or links in a heap that we do not read
  bool dense_links = false;

  bool is_group() const { return has_symbol_table || group_of_links; }
  bool is_array() const { return type && space && layout; }
};

Object parse_object(const Image& image, uint64_t address);
Datatype parse_datatype(Cursor& cursor);
Dataspace parse_dataspace(Cursor& cursor);
// The links of a group as symbol table. A soft link has an undefined address.
std::vector<Link> parse_symbol_table(const Image& image, uint64_t tree, uint64_t heap);

// The elements in `raw`. Errors start with `what`.
Tensor decode(const Image& image, const std::string& what, const Datatype& type,
              const Dataspace& space, std::string_view raw);
// The bytes of an array in chunks.
std::string read_chunks(const Image& image, const std::string& what, const Object& array);

}  // namespace systole::hdf5
