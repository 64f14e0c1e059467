#include "systole/stablehlo/bytecode/encoder.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "systole/stablehlo/bytecode/encoding.h"

namespace systole::hlo::bytecode {
namespace {

void append_section(std::string& out, Section id, std::string_view data) {
  out += static_cast<char>(id);
  append_varint(out, data.size());
  out += data;
}

// Returns the numbers of entries sorted by dialect.
template <class List>
std::vector<uint64_t> numbers_by_dialect(const List& entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return entries[i].dialect; });
  std::vector<uint64_t> numbers(entries.size());
  for (size_t i = 0; i < order.size(); ++i) numbers[order[i]] = i;
  return numbers;
}

// Returns the entries' indices in the order of their numbers.
std::vector<size_t> inverse(const std::vector<uint64_t>& numbers) {
  std::vector<size_t> order(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) order[numbers[i]] = i;
  return order;
}

// Calls write(begin, end) for each range of entries of one dialect.
template <class List, class Write>
void for_each_dialect(const List& entries, const std::vector<size_t>& order, Write&& write) {
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && entries[order[end]].dialect == entries[order[begin]].dialect)
      ++end;
    write(begin, end);
    begin = end;
  }
}

}  // namespace

void append_varint(std::string& out, uint64_t value) {
  const int bits = std::max<int>(1, std::bit_width(value));
  const int more = bits > 56 ? 8 : (bits - 1) / 7;
  if (more == 8) {
    out += '\0';
    for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
    return;
  }
  const uint64_t encoded = ((value << 1) | 1) << more;
  for (int i = 0; i <= more; ++i) out += static_cast<char>(encoded >> (8 * i));
}

void append_signed_varint(std::string& out, int64_t value) {
  append_varint(out, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

void append_flagged(std::string& out, uint64_t value, bool flag) {
  append_varint(out, (value << 1) | (flag ? 1 : 0));
}

std::string& Encoding::tail() {
  if (parts_.empty() || parts_.back().kind != Kind::bytes) parts_.push_back({Kind::bytes, 0, ""});
  return parts_.back().bytes;
}

Encoding& Encoding::byte(uint8_t value) {
  tail() += static_cast<char>(value);
  return *this;
}
Encoding& Encoding::varint(uint64_t value) {
  append_varint(tail(), value);
  return *this;
}
Encoding& Encoding::signed_varint(int64_t value) {
  append_signed_varint(tail(), value);
  return *this;
}
Encoding& Encoding::flagged(uint64_t value, bool flag) {
  append_flagged(tail(), value, flag);
  return *this;
}
Encoding& Encoding::bytes(std::string_view bytes) {
  tail() += bytes;
  return *this;
}
Encoding& Encoding::reference(Kind kind, uint32_t id) {
  parts_.push_back({kind, id, ""});
  return *this;
}
Encoding& Encoding::attribute(AttrId id) {
  return reference(Kind::attribute, static_cast<uint32_t>(id));
}
Encoding& Encoding::present(AttrId id) {
  return reference(Kind::present, static_cast<uint32_t>(id));
}
Encoding& Encoding::type(TypeId id) { return reference(Kind::type, static_cast<uint32_t>(id)); }
Encoding& Encoding::flagged_type(TypeId id, bool flag) {
  return reference(flag ? Kind::type_flag_1 : Kind::type_flag_0, static_cast<uint32_t>(id));
}
Encoding& Encoding::op(OpId id) { return reference(Kind::op, static_cast<uint32_t>(id)); }

Encoding& Encoding::append(const Encoding& other) {
  parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
  return *this;
}

std::string Encoding::key() const {
  std::string key;
  for (const Part& part : parts_) {
    key += static_cast<char>(part.kind);
    append_varint(key, part.kind == Kind::bytes ? part.bytes.size() : part.id);
    key += part.bytes;
  }
  return key;
}

uint64_t Tables::string(std::string_view text) {
  const auto [found, is_new] = string_numbers_.emplace(text, strings_.size());
  if (is_new) strings_.emplace_back(text);
  return found->second;
}

size_t Tables::dialect(std::string_view name) {
  const auto found = std::ranges::find(dialects_, name);
  if (found != dialects_.end()) return static_cast<size_t>(found - dialects_.begin());
  string(name);
  dialects_.emplace_back(name);
  return dialects_.size() - 1;
}

uint32_t Tables::entry(std::vector<Entry>& entries, std::map<std::string, uint32_t>& keys,
                       std::string_view dialect_name, bool custom, Encoding encoding) {
  const size_t number = dialect(dialect_name);
  std::string key;
  append_flagged(key, number, custom);
  key += encoding.key();
  const auto [found, is_new] = keys.emplace(std::move(key), static_cast<uint32_t>(entries.size()));
  if (is_new) entries.push_back({number, custom, std::move(encoding)});
  return found->second;
}

AttrId Tables::attribute(std::string_view dialect, Encoding encoding) {
  return AttrId{entry(attributes_, attribute_keys_, dialect, true, std::move(encoding))};
}

TypeId Tables::type(std::string_view dialect, Encoding encoding) {
  return TypeId{entry(types_, type_keys_, dialect, true, std::move(encoding))};
}

AttrId Tables::text_attribute(std::string_view dialect, std::string_view text) {
  Encoding encoding;
  encoding.bytes(text).byte(0);
  return AttrId{entry(attributes_, attribute_keys_, dialect, false, std::move(encoding))};
}

OpId Tables::op(std::string_view dialect_name, std::string_view name, bool registered) {
  std::string key = std::string(dialect_name) + '.' + std::string(name);
  const auto [found, is_new] = op_keys_.emplace(std::move(key), static_cast<uint32_t>(ops_.size()));
  if (is_new) ops_.push_back({dialect(dialect_name), string(name), registered});
  return OpId{found->second};
}

uint64_t Tables::properties(const Encoding& encoding) {
  const auto [found, is_new] = property_keys_.emplace(encoding.key(), properties_.size());
  if (is_new) properties_.push_back(encoding);
  return found->second;
}

void Tables::number_all() {
  attribute_numbers_ = numbers_by_dialect(attributes_);
  type_numbers_ = numbers_by_dialect(types_);
  op_numbers_ = numbers_by_dialect(ops_);
}

std::string Tables::resolve(const Encoding& encoding) const {
  using Kind = Encoding::Kind;
  std::string out;
  for (const Encoding::Part& part : encoding.parts_) {
    switch (part.kind) {
      case Kind::bytes:
        out += part.bytes;
        break;
      case Kind::attribute:
        append_varint(out, attribute_numbers_[part.id]);
        break;
      case Kind::present:
        append_flagged(out, attribute_numbers_[part.id], true);
        break;
      case Kind::type:
        append_varint(out, type_numbers_[part.id]);
        break;
      case Kind::type_flag_0:
      case Kind::type_flag_1:
        append_flagged(out, type_numbers_[part.id], part.kind == Kind::type_flag_1);
        break;
      case Kind::op:
        append_varint(out, op_numbers_[part.id]);
        break;
    }
  }
  return out;
}

std::string Tables::dialect_section(uint64_t format) const {
  std::string out;
  append_varint(out, dialects_.size());
  for (const std::string& name : dialects_) {
    const uint64_t number = string_numbers_.find(name)->second;
    if (format < kDialectVersions) {
      append_varint(out, number);
    } else {
      append_flagged(out, number, false);
    }
  }
  if (format >= kArgumentLocationFlag) append_varint(out, ops_.size());
  const std::vector<size_t> order = inverse(op_numbers_);
  for_each_dialect(ops_, order, [&](size_t begin, size_t end) {
    append_varint(out, ops_[order[begin]].dialect);
    append_varint(out, end - begin);
    for (size_t i = begin; i < end; ++i) {
      const Op& op = ops_[order[i]];
      if (format < kProperties) {
        append_varint(out, op.name);
      } else {
        append_flagged(out, op.name, op.registered);
      }
    }
  });
  return out;
}

std::pair<std::string, std::string> Tables::entry_sections() const {
  std::string data;
  std::string offsets;
  append_varint(offsets, attributes_.size());
  append_varint(offsets, types_.size());
  const auto write = [&](const std::vector<Entry>& entries, const std::vector<uint64_t>& numbers) {
    const std::vector<size_t> order = inverse(numbers);
    for_each_dialect(entries, order, [&](size_t begin, size_t end) {
      append_varint(offsets, entries[order[begin]].dialect);
      append_varint(offsets, end - begin);
      for (size_t i = begin; i < end; ++i) {
        const std::string bytes = resolve(entries[order[i]].encoding);
        append_flagged(offsets, bytes.size(), entries[order[i]].custom);
        data += bytes;
      }
    });
  };
  write(attributes_, attribute_numbers_);
  write(types_, type_numbers_);
  return {std::move(data), std::move(offsets)};
}

std::string Tables::string_section() const {
  std::string out;
  append_varint(out, strings_.size());
  for (auto text = strings_.rbegin(); text != strings_.rend(); ++text)
    append_varint(out, text->size() + 1);
  for (const std::string& text : strings_) {
    out += text;
    out += '\0';
  }
  return out;
}

std::string Tables::properties_section() const {
  std::string out;
  append_varint(out, properties_.size());
  for (const Encoding& encoding : properties_) {
    const std::string bytes = resolve(encoding);
    append_varint(out, bytes.size());
    out += bytes;
  }
  return out;
}

std::string Tables::file(uint64_t format, std::string_view producer, const Encoding& module,
                         const Encoding& body) {
  number_all();
  std::string ir;
  append_flagged(ir, 1, false);  // one op, no arguments
  ir += resolve(module);
  const std::string regions = resolve(body);
  if (format >= kIsolatedSections) {
    append_section(ir, Section::ir, regions);
  } else {
    ir += regions;
  }
  const auto [entries, offsets] = entry_sections();
  std::string out(kMagic);
  append_varint(out, format);
  out += producer;
  out += '\0';
  append_section(out, Section::dialects, dialect_section(format));
  append_section(out, Section::attr_types, entries);
  append_section(out, Section::attr_type_offsets, offsets);
  append_section(out, Section::ir, ir);
  append_section(out, Section::strings, string_section());
  if (format >= kProperties) append_section(out, Section::properties, properties_section());
  return out;
}

}  // namespace systole::hlo::bytecode
