#include "systole/io/hdf5/hdf5_format.h"

#include <cstring>
#include <utility>

namespace systole::hdf5 {
namespace {

enum class MessageType : uint16_t {
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  filters = 0x0b,
  attribute = 0x0c,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_info = 0x15,
};

uint64_t padded(uint64_t size) { return (size + 7) / 8 * 8; }

std::string_view until_null(std::string_view text) { return text.substr(0, text.find('\0')); }

Attribute parse_attribute(Cursor cursor) {
  const uint64_t version = cursor.number(1);
  if (version < 1 || version > 3) throw cursor.unknown("an attribute", version);
  if (cursor.number(1) != 0 && version > 1)
    throw cursor.unknown("a shared type of version", version);
  const uint64_t name_size = cursor.number(2);
  const uint64_t type_size = cursor.number(2);
  const uint64_t space_size = cursor.number(2);
  if (version == 3) cursor.skip(1);  // the character set of the name
  const auto part = [&](uint64_t size) { return cursor.take(version == 1 ? padded(size) : size); };
  Attribute attribute;
  attribute.name = until_null(part(name_size));
  Cursor type(cursor.image(), part(type_size), "the type of an attribute");
  attribute.type = parse_datatype(type);
  Cursor space(cursor.image(), part(space_size), "the sizes of an attribute");
  attribute.space = parse_dataspace(space);
  attribute.data = cursor.take(cursor.left());
  return attribute;
}

Link parse_link(Cursor cursor) {
  const uint64_t version = cursor.number(1);
  if (version != 1) throw cursor.unknown("a link", version);
  const uint64_t flags = cursor.number(1);
  const uint64_t kind = (flags & 8U) != 0 ? cursor.number(1) : 0;
  if ((flags & 4U) != 0) cursor.skip(8);   // creation order
  if ((flags & 16U) != 0) cursor.skip(1);  // character set
  const uint64_t size = cursor.number(size_t{1} << (flags & 3U));
  Link link{.name = std::string(cursor.take(size))};
  if (kind == 0) link.address = cursor.address();
  return link;
}

void parse_old_layout(Cursor& cursor, uint64_t version, Layout& layout) {
  const uint64_t dimensions = cursor.number(1);
  const uint64_t kind = cursor.number(1);
  cursor.skip(5);
  if (kind != 0) layout.address = cursor.address();
  std::vector<uint64_t> sizes;
  for (uint64_t i = 0; i < dimensions; ++i) sizes.push_back(cursor.number(4));
  if (kind == 0) {
    layout.kind = Layout::Kind::compact;
    layout.data = cursor.take(cursor.number(4));
  } else if (kind == 1) {
    layout.size = kUndefined;
  } else if (kind == 2 && !sizes.empty()) {
    layout.kind = Layout::Kind::chunked;
    sizes.pop_back();  // bytes of an element
    layout.chunk = std::move(sizes);
  } else {
    throw cursor.unknown("a layout of version", version);
  }
}

Layout parse_layout(Cursor cursor) {
  Layout layout;
  const uint64_t version = cursor.number(1);
  if (version < 1 || version > 4) throw cursor.unknown("a layout", version);
  if (version < 3) {
    parse_old_layout(cursor, version, layout);
    return layout;
  }
  const uint64_t kind = cursor.number(1);
  if (kind == 0) {
    layout.kind = Layout::Kind::compact;
    layout.data = cursor.take(cursor.number(2));
  } else if (kind == 1) {
    layout.address = cursor.address();
    layout.size = cursor.number(8);
  } else if (kind == 2 && version == 3) {
    layout.kind = Layout::Kind::chunked;
    const uint64_t dimensions = cursor.number(1);
    layout.address = cursor.address();
    for (uint64_t i = 0; i + 1 < dimensions; ++i) layout.chunk.push_back(cursor.number(4));
  } else {
    throw cursor.unknown("a layout of kind", kind);
  }
  return layout;
}

std::vector<Filter> parse_filters(Cursor cursor) {
  const uint64_t version = cursor.number(1);
  const uint64_t count = cursor.number(1);
  if (version < 1 || version > 2) throw cursor.unknown("a filter pipeline", version);
  if (version == 1) cursor.skip(6);
  std::vector<Filter> filters;
  for (uint64_t i = 0; i < count; ++i) {
    Filter filter{.id = static_cast<uint16_t>(cursor.number(2))};
    const uint64_t name = version == 1 || filter.id >= 256 ? cursor.number(2) : 0;
    cursor.skip(2);  // flags
    const uint64_t values = cursor.number(2);
    cursor.skip(version == 1 ? padded(name) : name);
    cursor.skip(4 * values + (version == 1 ? 4 * (values % 2) : 0));
    filters.push_back(filter);
  }
  return filters;
}

// Whether a message names a heap: version, flags, an optional index, the heap's address.
bool has_heap(Cursor cursor, uint64_t index_size) {
  cursor.skip(1);
  const uint64_t flags = cursor.number(1);
  if ((flags & 1U) != 0) cursor.skip(index_size);
  return cursor.address() != kUndefined;
}

// Reads the chunks of messages of one object's header.
class HeaderParser {
 public:
  HeaderParser(const Image& image, uint64_t address) : image_(image) { object_.address = address; }

  Object parse() {
    const uint64_t address = object_.address;
    if (image_.range(address, 4, "an object header") == "OHDR") {
      parse_second(address);
    } else {
      parse_first(address);
    }
    // Continuations are appended while they are parsed; the file's size bounds them.
    // NOLINTNEXTLINE(modernize-loop-convert): the list grows.
    for (size_t i = 0; i < chunks_.size(); ++i) parse_chunk(chunks_[i]);
    return std::move(object_);
  }

 private:
  void parse_first(uint64_t address) {
    Cursor cursor(image_, address, 16, "an object header");
    const uint64_t version = cursor.number(1);
    if (version != 1) throw cursor.unknown("an object header", version);
    cursor.skip(7);
    add_chunk(address + 16, cursor.number(4));
  }

  void parse_second(uint64_t address) {
    new_format_ = true;
    Cursor cursor(image_, address, std::min<uint64_t>(48, image_.bytes.size() - address),
                  "an object header");
    cursor.expect("OHDR");
    const uint64_t version = cursor.number(1);
    if (version != 2) throw cursor.unknown("an object header", version);
    const uint64_t flags = cursor.number(1);
    ordered_ = (flags & 4U) != 0;
    if ((flags & 0x20U) != 0) cursor.skip(16);
    if ((flags & 0x10U) != 0) cursor.skip(4);
    const uint64_t size = cursor.number(size_t{1} << (flags & 3U));
    add_chunk(address + cursor.at(), size);
  }

  void add_chunk(uint64_t address, uint64_t size) {
    const std::string_view chunk = image_.range(address, size, "an object header");
    total_ += chunk.size() + 1;
    if (total_ > image_.bytes.size()) {
      throw image_.damaged(address, "an object header that contains itself");
    }
    chunks_.push_back(chunk);
  }

  void parse_chunk(std::string_view chunk) {
    Cursor cursor(image_, chunk, "an object header");
    const size_t head = new_format_ ? (ordered_ ? 6 : 4) : 8;
    while (cursor.left() >= head) {
      const uint64_t type = cursor.number(new_format_ ? 1 : 2);
      const uint64_t size = cursor.number(2);
      const uint64_t flags = cursor.number(1);
      cursor.skip(head - (new_format_ ? 4 : 5));
      // A gap at the end of a chunk of the new format is smaller than a message.
      parse_message(static_cast<MessageType>(type), flags, cursor.take(size));
    }
  }

  void parse_message(MessageType type, uint64_t flags, std::string_view data) {
    Cursor cursor(image_, data, "a header message");
    const bool shared = (flags & 2U) != 0;
    switch (type) {
      case MessageType::dataspace:
        if (shared) throw cursor.unknown("shared sizes", 0);
        object_.space = parse_dataspace(cursor);
        break;
      case MessageType::datatype:
        if (shared) throw cursor.unknown("a named type", 0);
        object_.type = parse_datatype(cursor);
        break;
      case MessageType::link:
        object_.group_of_links = true;
        object_.links.push_back(parse_link(cursor));
        break;
      case MessageType::link_info:
        object_.group_of_links = true;
        object_.dense_links = has_heap(cursor, 8);
        break;
      case MessageType::attribute_info:
        object_.dense_attributes = has_heap(cursor, 2);
        break;
      case MessageType::external_files:
        object_.external = true;
        break;
      case MessageType::layout:
        object_.layout = parse_layout(cursor);
        break;
      case MessageType::filters:
        object_.filters = parse_filters(cursor);
        break;
      case MessageType::attribute:
        if (shared) throw cursor.unknown("a shared attribute", 0);
        object_.attributes.push_back(parse_attribute(cursor));
        break;
      case MessageType::symbol_table:
        object_.has_symbol_table = true;
        object_.tree = cursor.address();
        object_.heap = cursor.address();
        break;
      case MessageType::continuation:
        parse_continuation(cursor);
        break;
      default:
        break;
    }
  }

  void parse_continuation(Cursor cursor) {
    uint64_t address = cursor.address();
    uint64_t size = cursor.number(8);
    if (new_format_) {  // between a signature and a checksum
      Cursor block(image_, address, size, "a continued header");
      block.expect("OCHK");
      if (block.left() < 4) throw block.damaged("no checksum");
      address += 4;
      size -= 8;
    }
    add_chunk(address, size);
  }

  const Image& image_;
  Object object_;
  std::vector<std::string_view> chunks_;
  uint64_t total_ = 0;
  bool new_format_ = false;
  bool ordered_ = false;
};

// Walks the B-tree of a group. The file's size bounds the walk, whatever the addresses say.
class SymbolTableParser {
 public:
  SymbolTableParser(const Image& image, uint64_t heap) : image_(image) {
    Cursor cursor(image, heap, 32, "a local heap");
    cursor.expect("HEAP");
    cursor.skip(4);
    const uint64_t size = cursor.number(8);
    cursor.skip(8);
    names_ = image.range(cursor.address(), size, "the names of a group");
  }

  std::vector<Link> parse(uint64_t tree) {
    visit(tree, -1);
    return std::move(links_);
  }

 private:
  void visit(uint64_t address, int expected_level) {
    Cursor cursor(image_, address, 24, "a B-tree");
    cursor.expect("TREE");
    const uint64_t type = cursor.number(1);
    const int level = static_cast<int>(cursor.number(1));
    const uint64_t entries = cursor.number(2);
    if (type != 0 || (expected_level >= 0 && level != expected_level)) {
      throw cursor.damaged("a node of another kind or level");
    }
    spend(24, address);
    Cursor keys(image_, address + 24, 16 * entries + 8, "a B-tree");
    for (uint64_t i = 0; i < entries; ++i) {
      keys.skip(8);
      const uint64_t child = keys.address();
      if (level > 0) {
        visit(child, level - 1);
      } else {
        read_symbols(child);
      }
    }
  }

  void read_symbols(uint64_t address) {
    Cursor head(image_, address, 8, "a symbol table");
    head.expect("SNOD");
    head.skip(2);
    const uint64_t count = head.number(2);
    spend(8 + 40 * count, address);
    Cursor cursor(image_, address + 8, 40 * count, "a symbol table");
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t offset = cursor.number(8);
      const uint64_t object = cursor.address();
      const uint64_t cache = cursor.number(4);
      cursor.skip(20);
      if (offset >= names_.size()) throw cursor.damaged("a name outside its heap");
      const std::string_view rest = names_.substr(offset);
      if (rest.find('\0') == std::string_view::npos) throw cursor.damaged("a name without an end");
      links_.push_back({std::string(until_null(rest)), cache == 2 ? kUndefined : object});
    }
  }

  // Counts the bytes of the nodes read so far. Nodes of a valid file do not overlap, so more bytes
  // than the file has mean that a node was reached twice.
  void spend(uint64_t bytes, uint64_t address) {
    spent_ += bytes;
    if (spent_ > image_.bytes.size())
      throw image_.damaged(address, "a B-tree that contains itself");
  }

  const Image& image_;
  std::string_view names_;
  std::vector<Link> links_;
  uint64_t spent_ = 0;
};

}  // namespace

std::string_view Image::range(uint64_t address, uint64_t size, std::string_view what) const {
  if (address > bytes.size() || size > bytes.size() - address) {
    throw damaged(address, fmt::format("{} of {} bytes, expected it to end before byte {}", what,
                                       size, bytes.size()));
  }
  return std::string_view(bytes).substr(address, size);
}

Error Image::damaged(uint64_t address, std::string_view what) const {
  return make_error(Code::data_loss, "{}: damaged HDF5 file: at byte {}, got {}", name, address,
                    what);
}

uint64_t Cursor::number(size_t bytes) {
  const std::string_view text = take(bytes);
  uint64_t value = 0;
  std::memcpy(&value, text.data(), bytes);
  return value;
}

std::string_view Cursor::take(uint64_t bytes) {
  if (bytes > left()) throw damaged("too few bytes");
  const std::string_view taken = range_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

void Cursor::expect(std::string_view text) {
  if (take(text.size()) != text) throw damaged("another signature");
}

Error Cursor::damaged(std::string_view problem) const {
  const auto address = static_cast<uint64_t>(range_.data() - image_.bytes.data());
  return image_.damaged(address + at_, fmt::format("{} in {}", problem, what_));
}

Error Cursor::unknown(std::string_view structure, uint64_t version) const {
  return unimplemented(
      "{}: HDF5 file with {} {}, expected the structures that h5py writes by default "
      "(libver='earliest')",
      image_.name, structure, version);
}

Object parse_object(const Image& image, uint64_t address) {
  return HeaderParser(image, address).parse();
}

std::vector<Link> parse_symbol_table(const Image& image, uint64_t tree, uint64_t heap) {
  return SymbolTableParser(image, heap).parse(tree);
}

}  // namespace systole::hdf5
