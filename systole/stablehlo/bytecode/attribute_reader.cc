#include "systole/stablehlo/bytecode/attribute_reader.h"

#include <algorithm>

#include "systole/stablehlo/bytecode/encoding.h"

namespace systole::hlo::bytecode {
namespace {

constexpr int kMaxDepth = 64;
// The text of a program is longer than its bytecode, but not by more than this.
constexpr size_t kMinBudget = size_t{4} << 20;
constexpr size_t kBudgetFactor = 64;

size_t total_bytes(const Container& container) {
  size_t bytes = container.ir.size();
  for (const auto* entries : {&container.attributes, &container.types, &container.properties}) {
    for (const Entry& entry : *entries) bytes += entry.bytes.size();
  }
  return bytes;
}

// MLIR text ends with a zero in the file.
std::string asm_text(const Entry& entry) {
  std::string_view text = entry.bytes;
  if (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  return std::string(text);
}

Error foreign(const Container& container, const Entry& entry, std::string_view what) {
  return unimplemented(
      "{}: byte {}: {}, got one in the encoding of dialect '{}', expected those of vhlo, builtin "
      "and sdy: "
      "`stablehlo-translate --serialize` writes a portable artifact, which has no others",
      container.file, entry.offset, what, entry.dialect);
}

}  // namespace

struct AttributeReader::Nesting {
  Nesting(int& depth, const ByteReader& at) : depth_(depth) {
    if (depth_ == kMaxDepth)
      throw at.error("attribute or type, got more than {} levels, expected fewer", kMaxDepth);
    ++depth_;
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

AttributeReader::AttributeReader(const Container& container, std::span<const Dialect> dialects)
    : container_(container),
      dialects_(dialects),
      attributes_(container.attributes.size()),
      types_(container.types.size()),
      budget_(kMinBudget + kBudgetFactor * total_bytes(container)) {}

AttributeReader::~AttributeReader() = default;

void AttributeReader::charge(size_t bytes, const ByteReader& at) {
  if (bytes > budget_)
    throw at.error("text of the program, got far more than its bytecode, expected less");
  budget_ -= bytes;
}

const Dialect* AttributeReader::find_dialect(const Entry& entry) const {
  const auto dialect = std::ranges::find(dialects_, entry.dialect, &Dialect::name);
  return dialect == dialects_.end() ? nullptr : &*dialect;
}

const DecodedAttribute& AttributeReader::attribute(uint64_t index, const ByteReader& at) {
  if (index >= attributes_.size()) {
    throw at.error("attribute, got index {}, expected one below {}", index, attributes_.size());
  }
  if (attributes_[index] != nullptr) return *attributes_[index];
  const Nesting nesting(depth_, at);
  const Entry& entry = container_.attributes[index];
  ByteReader reader(entry.bytes, container_.file, entry.offset);
  DecodedAttribute decoded;
  if (!entry.custom) {
    decoded.text = asm_text(entry);
  } else {
    const Dialect* dialect = find_dialect(entry);
    if (dialect == nullptr) throw foreign(container_, entry, "attribute");
    decoded = dialect->attribute(reader, *this);
    reader.expect_end("attribute");
  }
  charge(decoded.text.size(), reader);
  attributes_[index] = std::make_unique<DecodedAttribute>(std::move(decoded));
  return *attributes_[index];
}

const DecodedType& AttributeReader::type(uint64_t index, const ByteReader& at) {
  if (index >= types_.size())
    throw at.error("type, got index {}, expected one below {}", index, types_.size());
  if (types_[index] != nullptr) return *types_[index];
  const Nesting nesting(depth_, at);
  const Entry& entry = container_.types[index];
  ByteReader reader(entry.bytes, container_.file, entry.offset);
  DecodedType decoded;
  if (!entry.custom) {
    decoded.text = asm_text(entry);
  } else {
    const Dialect* dialect = find_dialect(entry);
    if (dialect == nullptr || dialect->type == nullptr) throw foreign(container_, entry, "type");
    decoded = dialect->type(reader, *this);
    reader.expect_end("type");
  }
  charge(decoded.text.size(), reader);
  types_[index] = std::make_unique<DecodedType>(std::move(decoded));
  return *types_[index];
}

std::string AttributeReader::location_name(uint64_t index, const ByteReader& at) const {
  if (index >= attributes_.size()) {
    throw at.error("location, got index {}, expected one below {}", index, attributes_.size());
  }
  const Entry& entry = container_.attributes[index];
  if (!entry.custom || entry.dialect != "builtin") return "";
  ByteReader reader(entry.bytes, container_.file, entry.offset);
  if (reader.varint("location") != static_cast<uint64_t>(BuiltinAttr::name_location)) return "";
  const uint64_t name = reader.index(attributes_.size(), "name of a location");
  const Entry& text = container_.attributes[name];
  ByteReader string_reader(text.bytes, container_.file, text.offset);
  if (!text.custom || text.dialect != "builtin" ||
      string_reader.varint("string") != static_cast<uint64_t>(BuiltinAttr::string)) {
    return "";
  }
  return std::string(string(string_reader.varint("string"), string_reader));
}

std::string_view AttributeReader::string(uint64_t index, const ByteReader& at) const {
  if (index < container_.strings.size()) return container_.strings[index];
  throw at.error("string, got index {}, expected one below {}", index, container_.strings.size());
}

}  // namespace systole::hlo::bytecode
