// Element types, sizes of arrays, and elements.
#include <algorithm>
#include <cstring>
#include <map>

#include "systole/io/hdf5/hdf5_format.h"

namespace systole::hdf5 {
namespace {

constexpr uint64_t kVariableSize = 16;  // length, address and index of a string in a heap

DType integer_dtype(uint64_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? DType::s8 : DType::u8;
    case 2:
      return is_signed ? DType::s16 : DType::u16;
    case 4:
      return is_signed ? DType::s32 : DType::u32;
    case 8:
      return is_signed ? DType::s64 : DType::u64;
    default:
      return DType::invalid;
  }
}

// The IEEE format of these fields, if it is one.
DType floating_dtype(uint64_t size, Cursor cursor) {
  cursor.skip(4);
  const std::string_view fields =
      cursor.take(4);  // exponent location, size, mantissa location, size
  const uint64_t bias = cursor.number(4);
  if (size == 2 && fields == std::string_view("\x0a\x05\x00\x0a", 4) && bias == 15)
    return DType::f16;
  if (size == 4 && fields == std::string_view("\x17\x08\x00\x17", 4) && bias == 127) {
    return DType::f32;
  }
  if (size == 8 && fields == std::string_view("\x34\x0b\x00\x34", 4) && bias == 1023) {
    return DType::f64;
  }
  return DType::invalid;
}

Datatype::Padding padding_of(uint64_t bits, const Cursor& cursor) {
  if (bits > 2) throw cursor.damaged("an unknown padding of strings");
  return static_cast<Datatype::Padding>(bits);
}

std::string unpadded(std::string_view text, Datatype::Padding padding) {
  if (padding == Datatype::Padding::null_terminated) {
    text = text.substr(0, text.find('\0'));
  } else {
    const char pad = padding == Datatype::Padding::null_padded ? '\0' : ' ';
    while (!text.empty() && text.back() == pad) text.remove_suffix(1);
  }
  return std::string(text);
}

// Strings of variable length, which lie in collections.
class HeapStrings {
 public:
  explicit HeapStrings(const Image& image) : image_(image) {}

  // `reference`: kVariableSize bytes.
  std::string read(std::string_view reference) {
    Cursor cursor(image_, reference, "a reference to a string");
    const uint64_t length = cursor.number(4);
    const uint64_t address = cursor.address();
    const uint64_t index = cursor.number(4);
    if (length == 0 || address == 0 || address == kUndefined) return "";
    const auto& objects = collection(address);
    const auto it = objects.find(index);
    if (it == objects.end() || it->second.size() < length) {
      throw cursor.damaged("a string that is not in its heap");
    }
    // Each string has its own bytes, so all of them are no larger than the file.
    total_ += length;
    if (total_ > image_.bytes.size()) throw cursor.damaged("strings larger than the file");
    return unpadded(it->second.substr(0, length), Datatype::Padding::null_terminated);
  }

 private:
  using Objects = std::map<uint64_t, std::string_view>;

  const Objects& collection(uint64_t address) {
    const auto [it, added] = collections_.try_emplace(address);
    if (!added) return it->second;
    Cursor head(image_, address, 16, "a heap of strings");
    head.expect("GCOL");
    const uint64_t version = head.number(1);
    if (version != 1) throw head.unknown("a heap", version);
    head.skip(3);
    const uint64_t size = head.number(8);
    if (size < 16) throw head.damaged("a size smaller than its head");
    Cursor cursor(image_, address + 16, size - 16, "a heap of strings");
    while (cursor.left() >= 16) {
      const uint64_t index = cursor.number(2);
      cursor.skip(6);
      const uint64_t bytes = cursor.number(8);
      if (index == 0) break;  // free space up to the end
      it->second[index] = cursor.take(bytes);
      cursor.skip(std::min<uint64_t>(cursor.left(), (8 - bytes % 8) % 8));
    }
    return it->second;
  }

  const Image& image_;
  std::map<uint64_t, Objects> collections_;
  uint64_t total_ = 0;
};

void swap_bytes(std::byte* bytes, size_t elements, size_t size) {
  for (size_t i = 0; i < elements; ++i) std::reverse(bytes + i * size, bytes + (i + 1) * size);
}

}  // namespace

Datatype parse_datatype(Cursor& cursor) {
  Datatype type;
  const uint64_t head = cursor.number(1);
  const uint64_t bits = cursor.number(3);
  type.size = cursor.number(4);
  type.type_class = static_cast<int>(head & 15U);
  const uint64_t version = head >> 4;
  if (version < 1 || version > 4) throw cursor.unknown("an element type", version);
  switch (type.type_class) {
    case 0:
      type.dtype = integer_dtype(type.size, (bits & 8U) != 0);
      if (cursor.number(2) != 0 || cursor.number(2) != 8 * type.size) type.dtype = DType::invalid;
      break;
    case 1:
      type.dtype = floating_dtype(type.size, cursor);
      if ((bits & 0x40U) != 0) type.dtype = DType::invalid;  // VAX
      break;
    case 3:
      if (type.size == 0) throw cursor.damaged("strings of no bytes");
      type.kind = Datatype::Kind::fixed_string;
      type.dtype = DType::string;
      type.padding = padding_of(bits & 15U, cursor);
      return type;
    case 9:
      if ((bits & 15U) == 1 && type.size == kVariableSize) {
        type.kind = Datatype::Kind::variable_string;
        type.dtype = DType::string;
      }
      return type;
    default:
      return type;
  }
  if (type.dtype != DType::invalid) type.kind = Datatype::Kind::number;
  type.big_endian = (bits & 1U) != 0;
  return type;
}

Dataspace parse_dataspace(Cursor& cursor) {
  const uint64_t version = cursor.number(1);
  if (version < 1 || version > 2) throw cursor.unknown("sizes of an array", version);
  const uint64_t rank = cursor.number(1);
  cursor.skip(1);  // flags: greatest sizes follow
  const uint64_t kind = cursor.number(1);
  if (version == 1) cursor.skip(4);
  if (version == 2 && kind == 2) return {.shape = Shape{0}, .elements = 0};
  if (rank > 32) throw cursor.damaged("more than 32 axes");
  Dims dims;
  uint64_t elements = 1;
  uint64_t bound = 1;  // as if empty axes had one element: products of sizes fit 62 bits
  for (uint64_t i = 0; i < rank; ++i) {
    const uint64_t size = cursor.number(8);
    if (__builtin_mul_overflow(bound, std::max<uint64_t>(size, 1), &bound) || bound >> 62 != 0) {
      throw cursor.damaged("more elements than memory can hold");
    }
    elements *= size;
    dims.push_back(static_cast<int64_t>(size));
  }
  return {.shape = Shape(std::move(dims)), .elements = elements};
}

Tensor decode(const Image& image, const std::string& what, const Datatype& type,
              const Dataspace& space, std::string_view raw) {
  if (type.kind == Datatype::Kind::other) {
    throw unimplemented(
        "{}: {}: elements of HDF5 class {} and {} bytes, expected integers, IEEE floats or strings",
        image.name, what, type.type_class, type.size);
  }
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(space.elements, type.size, &bytes) || bytes > raw.size()) {
    throw make_error(Code::data_loss,
                     "{}: {}: damaged HDF5 file: got {} bytes for {} elements of {} bytes",
                     image.name, what, raw.size(), space.elements, type.size);
  }
  Tensor result(type.dtype, space.shape);
  if (type.kind == Datatype::Kind::number) {
    if (bytes > 0) std::memcpy(result.raw(), raw.data(), bytes);
    if (type.big_endian) {
      swap_bytes(static_cast<std::byte*>(result.raw()), space.elements, type.size);
    }
    return result;
  }
  HeapStrings heap(image);
  const std::span<std::string> strings = result.data<std::string>();
  for (uint64_t i = 0; i < space.elements; ++i) {
    const std::string_view element = raw.substr(i * type.size, type.size);
    strings[i] = type.kind == Datatype::Kind::fixed_string ? unpadded(element, type.padding)
                                                           : heap.read(element);
  }
  return result;
}

}  // namespace systole::hdf5
