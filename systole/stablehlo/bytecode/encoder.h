// The tables of a bytecode file under construction: strings, dialects, op names, attributes and
// types, each stored once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace systole::hlo::bytecode {

// Provisional numbers; the file's numbers are known when all of them are.
enum class AttrId : uint32_t {};
enum class TypeId : uint32_t {};
enum class OpId : uint32_t {};

void append_varint(std::string& out, uint64_t value);
void append_signed_varint(std::string& out, int64_t value);
void append_flagged(std::string& out, uint64_t value, bool flag);

// Bytes with references to attributes, types and ops.
class Encoding {
 public:
  Encoding& byte(uint8_t value);
  Encoding& varint(uint64_t value);
  Encoding& signed_varint(int64_t value);
  Encoding& flagged(uint64_t value, bool flag);
  Encoding& bytes(std::string_view bytes);
  Encoding& attribute(AttrId id);
  // An attribute that could be missing.
  Encoding& present(AttrId id);
  Encoding& type(TypeId id);
  // A type without (flag 0) or with a location.
  Encoding& flagged_type(TypeId id, bool flag);
  Encoding& op(OpId id);
  Encoding& append(const Encoding& other);

  // Equal for equal encodings only.
  std::string key() const;

 private:
  friend class Tables;
  enum class Kind : uint8_t { bytes, attribute, present, type, type_flag_0, type_flag_1, op };
  struct Part {
    Kind kind;
    uint32_t id;
    std::string bytes;
  };
  Encoding& reference(Kind kind, uint32_t id);
  std::string& tail();

  std::vector<Part> parts_;
};

class Tables {
 public:
  uint64_t string(std::string_view text);
  // Attributes and types in the encoding of a dialect.
  AttrId attribute(std::string_view dialect, Encoding encoding);
  TypeId type(std::string_view dialect, Encoding encoding);
  // An attribute as MLIR text.
  AttrId text_attribute(std::string_view dialect, std::string_view text);
  OpId op(std::string_view dialect, std::string_view name, bool registered);
  // Returns the number of these properties in the section of properties.
  uint64_t properties(const Encoding& encoding);

  // Returns the file. `module` is the op builtin.module without its regions, `body` the regions. No
  // more entries may be made.
  std::string file(uint64_t format, std::string_view producer, const Encoding& module,
                   const Encoding& body);

 private:
  struct Entry {
    size_t dialect;
    bool custom;
    Encoding encoding;
  };
  struct Op {
    size_t dialect;
    uint64_t name;
    bool registered;
  };

  size_t dialect(std::string_view name);
  uint32_t entry(std::vector<Entry>& entries, std::map<std::string, uint32_t>& keys,
                 std::string_view dialect, bool custom, Encoding encoding);
  void number_all();
  std::string resolve(const Encoding& encoding) const;
  std::string dialect_section(uint64_t format) const;
  // The section of attributes and types, and that of their offsets.
  std::pair<std::string, std::string> entry_sections() const;
  std::string string_section() const;
  std::string properties_section() const;

  std::vector<std::string> strings_;
  std::map<std::string, uint64_t, std::less<>> string_numbers_;
  std::vector<std::string> dialects_;
  std::vector<Entry> attributes_;
  std::vector<Entry> types_;
  std::vector<Op> ops_;
  std::vector<Encoding> properties_;
  std::map<std::string, uint32_t> attribute_keys_;
  std::map<std::string, uint32_t> type_keys_;
  std::map<std::string, uint32_t> op_keys_;
  std::map<std::string, uint64_t> property_keys_;
  // In the file, by provisional number: sorted by dialect.
  std::vector<uint64_t> attribute_numbers_;
  std::vector<uint64_t> type_numbers_;
  std::vector<uint64_t> op_numbers_;
};

}  // namespace systole::hlo::bytecode
