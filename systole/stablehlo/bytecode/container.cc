#include "systole/stablehlo/bytecode/container.h"

#include <array>
#include <charconv>
#include <optional>

#include "systole/stablehlo/bytecode/encoding.h"

namespace systole::hlo::bytecode {
namespace {

constexpr std::string_view kPortableProducer = "StableHLO_v";

struct SectionBytes {
  uint8_t id = 0;
  ByteReader reader;
};

constexpr std::array<std::string_view, kNumSections> kSectionNames = {
    "strings",   "dialects",         "attributes and types", "offsets",   "IR",
    "resources", "resource offsets", "dialect versions",     "properties"};

class ContainerReader {
 public:
  ContainerReader(std::string_view bytes, std::string_view file)
      : reader_(bytes, file), result_{.file = std::string(file)} {}

  Container read() {
    read_header();
    while (!reader_.empty()) {
      const SectionBytes section = read_section(reader_);
      auto& slot = sections_[section.id];
      if (slot)
        throw section.reader.error("section of {}, got a second one, expected one",
                                   kSectionNames[section.id]);
      slot = section.reader;
    }
    read_strings(section(Section::strings));
    read_dialects(section(Section::dialects));
    read_entries(section(Section::attr_types), section(Section::attr_type_offsets));
    if (auto& properties = sections_[static_cast<size_t>(Section::properties)])
      read_properties(*properties);
    check_resources();
    ByteReader ir = section(Section::ir);
    result_.ir_offset = ir.offset();
    result_.ir = ir.bytes(ir.remaining(), "IR");
    return std::move(result_);
  }

 private:
  void read_header() {
    if (reader_.bytes(kMagic.size(), "magic number") != kMagic) {
      throw reader_.error_at(0, "magic number, got another, expected 'ML\\xefR'");
    }
    const size_t at = reader_.offset();
    result_.format = reader_.varint("version");
    if (result_.format > kMaxFormat) {
      throw unimplemented("{}: byte {}: version of the bytecode, got {}, expected at most {}",
                          reader_.file(), at, result_.format, kMaxFormat);
    }
    result_.producer = reader_.c_string("producer");
    if (!result_.producer.starts_with(kPortableProducer)) return;
    const std::string_view text = result_.producer.substr(kPortableProducer.size());
    const VhloVersion version = parse_vhlo_version(text, reader_.file());
    const bool newer = version.major > kNewestVhlo.major ||
                       (version.major == kNewestVhlo.major && version.minor > kNewestVhlo.minor);
    if (newer || version < kOldestVhlo) {
      throw unimplemented(
          "{}: version of VHLO, got {}, expected {}.{} to {}.{}: export the program for a version "
          "in this range, as "
          "`stablehlo-translate --serialize --target={}` does",
          reader_.file(), text, kOldestVhlo.major, kOldestVhlo.minor, kNewestVhlo.major,
          kNewestVhlo.minor, kNewestVhlo.to_string());
    }
  }

  static SectionBytes read_section(ByteReader& reader) {
    const size_t at = reader.offset();
    const uint8_t id_and_flag = reader.byte("section");
    const auto id = static_cast<uint8_t>(id_and_flag & ~kAlignedSection);
    if (id >= kNumSections) {
      throw reader.error_at(
          at, fmt::format("section, got number {}, expected below {}", id, kNumSections));
    }
    const uint64_t length = reader.varint("length of a section");
    if ((id_and_flag & kAlignedSection) != 0) {
      const uint64_t alignment = reader.varint("alignment of a section");
      if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        throw reader.error("alignment of a section, got {}, expected a power of two", alignment);
      }
      while (reader.offset() % alignment != 0) {
        if (reader.byte("padding") != kPaddingByte)
          throw reader.error("padding, expected bytes 0xCB");
      }
    }
    return {id, reader.part(length, kSectionNames[id])};
  }

  ByteReader section(Section id) const {
    const auto& slot = sections_[static_cast<size_t>(id)];
    if (slot) return *slot;
    throw reader_.error("sections, got none of {}, expected one",
                        kSectionNames[static_cast<size_t>(id)]);
  }

  void read_strings(ByteReader reader) {
    const size_t count = reader.count("strings");
    std::vector<uint64_t> sizes;
    sizes.reserve(count);
    for (size_t i = 0; i < count; ++i) sizes.push_back(reader.varint("length of a string"));
    result_.strings.reserve(count);
    for (size_t i = count; i > 0; --i) {
      const std::string_view text = reader.bytes(sizes[i - 1], "string");
      if (text.empty() || text.back() != '\0')
        throw reader.error("string, got no zero at its end, expected one");
      result_.strings.push_back(text.substr(0, text.size() - 1));
    }
    reader.expect_end("strings");
  }

  std::string_view string(uint64_t index, const ByteReader& reader) const {
    if (index < result_.strings.size()) return result_.strings[index];
    throw reader.error("string, got index {}, expected one below {}", index,
                       result_.strings.size());
  }

  void read_dialects(ByteReader reader) {
    const size_t count = reader.count("dialects");
    for (size_t i = 0; i < count; ++i) {
      if (result_.format < kDialectVersions) {
        dialects_.push_back(string(reader.varint("dialect"), reader));
        continue;
      }
      const auto [name, versioned] = reader.flagged("dialect");
      dialects_.push_back(string(name, reader));
      if (versioned) read_section(reader);
    }
    if (result_.format >= kArgumentLocationFlag) reader.varint("number of op names");
    while (!reader.empty()) {
      const std::string_view dialect =
          dialects_[reader.index(dialects_.size(), "dialect of op names")];
      const size_t names = reader.count("op names");
      for (size_t i = 0; i < names; ++i) {
        OpName name{.dialect = dialect};
        if (result_.format < kProperties) {
          name.name = string(reader.varint("op name"), reader);
        } else {
          const auto [index, registered] = reader.flagged("op name");
          name.name = string(index, reader);
          name.registered = registered;
        }
        result_.op_names.push_back(name);
      }
    }
  }

  void read_entries(ByteReader data, ByteReader offsets) {
    const size_t attributes = offsets.count("attributes");
    const size_t types = offsets.count("types");
    read_groups(data, offsets, attributes, "attribute", result_.attributes);
    read_groups(data, offsets, types, "type", result_.types);
    offsets.expect_end("offsets");
    data.expect_end("attributes and types");
  }

  void read_groups(ByteReader& data, ByteReader& offsets, size_t total, std::string_view what,
                   std::vector<Entry>& entries) const {
    while (entries.size() < total) {
      const std::string_view dialect =
          dialects_[offsets.index(dialects_.size(), "dialect of attributes or types")];
      const size_t count = offsets.count("attributes or types of a dialect");
      if (count > total - entries.size()) {
        throw offsets.error("number of {}s, got more than {}, expected that many", what, total);
      }
      for (size_t i = 0; i < count; ++i) {
        const auto [size, custom] = offsets.flagged("size of an attribute or type");
        const size_t offset = data.offset();
        entries.push_back({dialect, custom, data.bytes(size, what), offset});
      }
    }
  }

  void read_properties(ByteReader reader) {
    const size_t count = reader.count("properties");
    for (size_t i = 0; i < count; ++i) {
      const uint64_t size = reader.varint("size of properties");
      const size_t offset = reader.offset();
      result_.properties.push_back({{}, true, reader.bytes(size, "properties"), offset});
    }
    reader.expect_end("properties");
  }

  // MLIR writes empty sections of resources where there are none.
  void check_resources() const {
    const auto& offsets = sections_[static_cast<size_t>(Section::resource_offsets)];
    if (!offsets) return;
    ByteReader reader = *offsets;
    reader.varint("number of external resource groups");
    size_t resources = 0;
    while (!reader.empty()) {
      reader.varint("key of resources");
      const size_t count = reader.count("resources");
      for (size_t i = 0; i < count; ++i) {
        reader.varint("key of a resource");
        reader.varint("size of a resource");
        reader.byte("kind of a resource");
      }
      resources += count;
    }
    if (resources == 0) return;
    throw unimplemented(
        "{}: byte {}: resources, got {}, expected none: portable artifacts keep constants in "
        "attributes, and "
        "`stablehlo-translate --serialize` writes one",
        result_.file, offsets->offset(), resources);
  }

  ByteReader reader_;
  Container result_;
  std::array<std::optional<ByteReader>, kNumSections> sections_;
  std::vector<std::string_view> dialects_;
};

}  // namespace

std::string VhloVersion::to_string() const { return fmt::format("{}.{}.{}", major, minor, patch); }

VhloVersion parse_vhlo_version(std::string_view text, std::string_view what) {
  VhloVersion version;
  const char* at = text.data();
  const char* const end = at + text.size();
  int parts = 0;
  for (int64_t* part : {&version.major, &version.minor, &version.patch}) {
    if (parts > 0 && (at == end || *at++ != '.')) break;
    const auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc() || *part < 0) break;
    at = next;
    ++parts;
  }
  if (parts == 3 && at == end) return version;
  throw invalid_argument("{}: version of VHLO, got '{}', expected one such as {}", what,
                         text.substr(0, 20), kNewestVhlo.to_string());
}

// StableHLO's documentation of VHLO lists the versions that changed the container.
uint64_t format_of(const VhloVersion& version) {
  struct Row {
    VhloVersion before;
    uint64_t format;
  };
  constexpr Row kRows[] = {{{0, 10, 0}, 0}, {{0, 12, 0}, 1}, {{0, 14, 0}, 3}, {{0, 15, 0}, 4}};
  for (const Row& row : kRows) {
    if (version < row.before) return row.format;
  }
  return kMaxFormat;
}

Container read_container(std::string_view bytes, std::string_view file) {
  return ContainerReader(bytes, file).read();
}

}  // namespace systole::hlo::bytecode
