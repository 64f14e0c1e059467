#include "systole/io/hdf5/hdf5_reader.h"

#include <utility>

#include "systole/base/suggest.h"
#include "systole/io/hdf5/hdf5_format.h"
#include "systole/io/wire/checksum_trailer.h"

namespace systole {
namespace {

using hdf5::kSignature;

// The whole file is held in memory: larger than any of Keras's models.
constexpr uint64_t kMaxHdf5Bytes = uint64_t{16} << 30U;

// The bytes from the superblock on: at the begin, or after a user block of 512 bytes or a doubling.
std::string without_user_block(const std::string& name, std::string bytes) {
  for (size_t at = 0; at < bytes.size(); at = at == 0 ? 512 : 2 * at) {
    if (std::string_view(bytes).substr(at, kSignature.size()) != kSignature) continue;
    if (at > 0) bytes.erase(0, at);
    return bytes;
  }
  throw make_error(Code::data_loss, "{}: not an HDF5 file: its signature is missing in {} bytes",
                   name, bytes.size());
}

uint64_t root_address(const hdf5::Image& image) {
  hdf5::Cursor cursor(image, 0, image.bytes.size(), "the superblock");
  cursor.skip(kSignature.size());
  const uint64_t version = cursor.number(1);
  if (version > 3) throw cursor.unknown("a superblock", version);
  if (version < 2) cursor.skip(4);
  const uint64_t offset_size = cursor.number(1);
  const uint64_t length_size = cursor.number(1);
  if (offset_size != 8 || length_size != 8) throw cursor.unknown("addresses of size", offset_size);
  if (version < 2) {
    cursor.skip(version == 0 ? 9 : 13);
    cursor.skip(32 + 8);  // base, free space, end, driver; the root's name
  } else {
    cursor.skip(1 + 24);  // flags; base, extension, end
  }
  return cursor.address();
}

std::string quoted_path(std::string_view path) {
  return fmt::format("'{}'", path.empty() ? "/" : path);
}

}  // namespace

bool looks_like_hdf5(std::string_view bytes) { return bytes.starts_with(kSignature); }

Hdf5Reader::Hdf5Reader(FileSystem& file_system, const std::string& path)
    : Hdf5Reader(path, read_file(file_system, path, kMaxHdf5Bytes)) {}

Hdf5Reader::Hdf5Reader(std::string name, std::string bytes)
    : image_(std::make_unique<hdf5::Image>()) {
  bytes.resize(checked_without_trailer(name, bytes, kHdf5ChecksumMark).size());
  image_->bytes = without_user_block(name, std::move(bytes));
  image_->name = std::move(name);
  image_->root = root_address(*image_);
}

Hdf5Reader::~Hdf5Reader() = default;

const std::string& Hdf5Reader::name() const { return image_->name; }

const Hdf5Reader::Links& Hdf5Reader::links(uint64_t address, std::string_view path) const {
  if (const auto it = groups_.find(address); it != groups_.end()) return it->second;
  const hdf5::Object group = hdf5::parse_object(*image_, address);
  if (!group.is_group()) {
    throw invalid_argument("{}: {}: got an array, expected a group", name(), quoted_path(path));
  }
  if (group.dense_links) {
    throw unimplemented(
        "{}: {}: a group whose links are in a heap, expected one as h5py writes by "
        "default (libver='earliest')",
        name(), quoted_path(path));
  }
  Links links;
  const std::vector<hdf5::Link> found =
      group.has_symbol_table ? hdf5::parse_symbol_table(*image_, group.tree, group.heap)
                             : group.links;
  for (const hdf5::Link& link : found) links.emplace(link.name, link.address);
  return groups_.emplace(address, std::move(links)).first->second;
}

uint64_t Hdf5Reader::find(std::string_view path) const {
  uint64_t address = image_->root;
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty()) continue;
    const Links& in_group = links(address, path);
    const auto it = in_group.find(part);
    if (it == in_group.end()) {
      std::vector<std::string> names;
      for (const auto& [name, link] : in_group) names.push_back(name);
      throw not_found("{}: {}: no '{}'{}", name(), quoted_path(path), part,
                      did_you_mean(std::string(part), names));
    }
    if (it->second == hdf5::kUndefined) {
      throw unimplemented("{}: {}: '{}' is a soft or external link, expected a hard link", name(),
                          quoted_path(path), part);
    }
    address = it->second;
  }
  return address;
}

const hdf5::Object& Hdf5Reader::object(std::string_view path) const {
  const uint64_t address = find(path);
  auto& slot = objects_[address];
  if (!slot) slot = std::make_unique<hdf5::Object>(hdf5::parse_object(*image_, address));
  return *slot;
}

bool Hdf5Reader::contains(std::string_view path) const {
  try {
    find(path);
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::not_found || error.code() == Code::invalid_argument) return false;
    throw;
  }
}

bool Hdf5Reader::is_group(std::string_view path) const { return object(path).is_group(); }

std::vector<std::string> Hdf5Reader::children(std::string_view group) const {
  std::vector<std::string> names;
  for (const auto& [name, address] : links(find(group), group)) names.push_back(name);
  return names;
}

TensorType Hdf5Reader::type_of(std::string_view array) const {
  const hdf5::Object& found = object(array);
  if (!found.is_array()) {
    throw invalid_argument("{}: {}: got a group, expected an array", name(), quoted_path(array));
  }
  return {found.type->dtype, found.space->shape};
}

Tensor Hdf5Reader::read(std::string_view array) const {
  type_of(array);  // checks that it is one
  const hdf5::Object& found = object(array);
  const std::string what = quoted_path(array);
  if (found.external) {
    throw unimplemented("{}: {}: its bytes are in other files, expected them in this one", name(),
                        what);
  }
  const hdf5::Layout& layout = *found.layout;
  switch (layout.kind) {
    case hdf5::Layout::Kind::compact:
      return hdf5::decode(*image_, what, *found.type, *found.space, layout.data);
    case hdf5::Layout::Kind::chunked:
      return hdf5::decode(*image_, what, *found.type, *found.space,
                          hdf5::read_chunks(*image_, what, found));
    case hdf5::Layout::Kind::contiguous:
      break;
  }
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(found.space->elements, found.type->size, &bytes)) {
    throw image_->damaged(layout.address, "more bytes than memory can hold");
  }
  std::string_view raw;
  if (bytes > 0) {
    if (layout.address == hdf5::kUndefined) {
      throw make_error(Code::data_loss, "{}: {}: damaged HDF5 file: the array was never written",
                       name(), what);
    }
    raw = image_->range(layout.address, std::min(bytes, layout.size), what);
  }
  return hdf5::decode(*image_, what, *found.type, *found.space, raw);
}

std::vector<std::string> Hdf5Reader::attribute_names(std::string_view path) const {
  std::vector<std::string> names;
  for (const hdf5::Attribute& attribute : object(path).attributes) names.push_back(attribute.name);
  return names;
}

bool Hdf5Reader::has_attribute(std::string_view path, std::string_view attribute) const {
  const hdf5::Object& found = object(path);
  for (const hdf5::Attribute& candidate : found.attributes) {
    if (candidate.name == attribute) return true;
  }
  if (found.dense_attributes) {
    throw unimplemented(
        "{}: {}: attributes in a heap, expected them as h5py writes by default "
        "(libver='earliest')",
        name(), quoted_path(path));
  }
  return false;
}

Tensor Hdf5Reader::attribute(std::string_view path, std::string_view attribute) const {
  if (!has_attribute(path, attribute)) {
    throw not_found("{}: {}: no attribute '{}'{}", name(), quoted_path(path), attribute,
                    did_you_mean(std::string(attribute), attribute_names(path)));
  }
  for (const hdf5::Attribute& found : object(path).attributes) {
    if (found.name != attribute) continue;
    return hdf5::decode(*image_, fmt::format("{}: attribute '{}'", quoted_path(path), attribute),
                        found.type, found.space, found.data);
  }
  return {};
}

std::vector<std::string> Hdf5Reader::strings(std::string_view path,
                                             std::string_view attribute) const {
  const Tensor values = this->attribute(path, attribute);
  if (values.num_elements() == 0) return {};
  if (values.dtype() != DType::string) {
    throw invalid_argument("{}: {}: attribute '{}', got {}, expected strings", name(),
                           quoted_path(path), attribute, values.type());
  }
  const std::span<const std::string> all = values.data<std::string>();
  return {all.begin(), all.end()};
}

std::string Hdf5Reader::string(std::string_view path, std::string_view attribute) const {
  std::vector<std::string> all = strings(path, attribute);
  if (all.size() != 1) {
    throw invalid_argument("{}: {}: attribute '{}', got {} strings, expected one", name(),
                           quoted_path(path), attribute, all.size());
  }
  return std::move(all[0]);
}

}  // namespace systole
