#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "systole/io/tables/npy_format.h"

namespace systole {
namespace {

constexpr int kMaxRank = 64;  // numpy's own

struct Kind {
  DType dtype;
  std::string_view code;
};
constexpr std::array<Kind, 16> kKinds = {{
    {DType::pred, "b1"},
    {DType::s8, "i1"},
    {DType::s16, "i2"},
    {DType::s32, "i4"},
    {DType::s64, "i8"},
    {DType::u8, "u1"},
    {DType::u16, "u2"},
    {DType::u32, "u4"},
    {DType::u64, "u8"},
    {DType::f16, "f2"},
    {DType::f32, "f4"},
    {DType::f64, "f8"},
    {DType::c64, "c8"},
    {DType::c128, "c16"},
    {DType::bf16, "V2"},
    {DType::pred, "?"},
}};

// Reads the subset of Python literals that headers use.
class Literal {
 public:
  Literal(const std::string& path, std::string_view text)
      : path_(path), text_(text.substr(0, text.find_last_not_of(kBlanks) + 1)) {}

  // Returns whether the next token is `c`, and consumes it.
  bool take(char c) {
    skip_blanks();
    if (next_ == text_.size() || text_[next_] != c) return false;
    ++next_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }
  bool at_end() {
    skip_blanks();
    return next_ == text_.size();
  }

  std::string_view string() {
    skip_blanks();
    const char quote = next_ < text_.size() ? text_[next_] : '\0';
    if (quote != '\'' && quote != '"') fail("a string");
    const size_t end = text_.find(quote, next_ + 1);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view value = text_.substr(next_ + 1, end - next_ - 1);
    next_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [name, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (text_.substr(next_).starts_with(name)) {
        next_ += std::string_view(name).size();
        return value;
      }
    }
    fail("True or False");
  }

  int64_t size() {
    skip_blanks();
    int64_t value = 0;
    const char* begin = text_.data() + next_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail("a size of a dimension");
    next_ += static_cast<size_t>(end - begin);
    if (next_ < text_.size() && text_[next_] == 'L') ++next_;  // Python 2 wrote long integers so
    return value;
  }

  Shape shape() {
    Dims dims;
    expect('(');
    while (!take(')')) {
      if (dims.size() == kMaxRank) fail(fmt::format("at most {} dimensions", kMaxRank));
      dims.push_back(size());
      if (take(',')) continue;
      expect(')');
      break;
    }
    return Shape(std::move(dims));
  }

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string_view rest = text_.substr(std::min(next_, text_.size()), 20);
    throw invalid_argument("{}: npy header, got '{}' at byte {}, expected {}", path_, rest, next_,
                           expected);
  }

 private:
  void skip_blanks() { next_ = std::min(text_.find_first_not_of(kBlanks, next_), text_.size()); }

  static constexpr std::string_view kBlanks = " \t\n\r";

  const std::string& path_;
  std::string_view text_;
  size_t next_ = 0;
};

NpyElement parse_descr(const std::string& path, std::string_view descr) {
  std::string_view code = descr;
  if (code == "bfloat16") code = "V2";
  const char order = code.empty() ? '\0' : code.front();
  if (order == '<' || order == '>' || order == '|' || order == '=') code.remove_prefix(1);
  for (const Kind& kind : kKinds) {
    if (code != kind.code) continue;
    const auto size = static_cast<size_t>(size_of(kind.dtype));
    return {.dtype = kind.dtype, .size = size, .swap = order == '>' && size > 1};
  }
  size_t length = 0;
  const bool sized = code.size() > 1 && (code[0] == 'S' || code[0] == 'U' || code[0] == 'a');
  if (sized) {
    const auto [end, error] = std::from_chars(code.data() + 1, code.data() + code.size(), length);
    // Elements of 0 bytes would let a small file demand any number of them.
    if (error == std::errc() && end == code.data() + code.size() && length > 0 &&
        length < (1U << 30U)) {
      const bool utf32 = code[0] == 'U';
      return {.dtype = DType::string,
              .size = utf32 ? length * 4 : length,
              .swap = utf32 && order == '>',
              .utf32 = utf32};
    }
  }
  throw unimplemented("{}: element type, got '{}', expected a number, a bool or a string", path,
                      descr);
}

}  // namespace

NpyHeader parse_npy_header(const std::string& path, std::string_view text) {
  NpyHeader header;
  std::string_view descr;
  std::array<bool, 3> seen{};
  constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order", "shape"};
  Literal literal(path, text);
  literal.expect('{');
  while (!literal.take('}')) {
    const std::string_view key = literal.string();
    const auto which = static_cast<size_t>(std::ranges::find(kKeys, key) - kKeys.begin());
    if (which == kKeys.size() || std::exchange(seen.at(which), true)) {
      throw invalid_argument("{}: npy header, got key '{}', expected each of {} once", path, key,
                             fmt::join(kKeys, ", "));
    }
    literal.expect(':');
    if (which == 0 && literal.take('[')) {
      throw unimplemented(
          "{}: element type, got a structure, expected a number, a bool or a string", path);
    }
    if (which == 0) descr = literal.string();
    if (which == 1) header.fortran_order = literal.boolean();
    if (which == 2) header.shape = literal.shape();
    if (literal.take(',')) continue;
    literal.expect('}');
    break;
  }
  if (!literal.at_end()) literal.fail("its end");
  if (std::ranges::find(seen, false) != seen.end())
    literal.fail("'descr', 'fortran_order' and 'shape'");
  header.element = parse_descr(path, descr);
  return header;
}

std::string npy_descr(DType dtype, size_t string_size) {
  if (dtype == DType::string) return fmt::format("|S{}", std::max<size_t>(string_size, 1));
  const auto kind = std::ranges::find(kKinds, dtype, &Kind::dtype);
  if (kind == kKinds.end()) return "";
  return fmt::format("{}{}", size_of(dtype) == 1 ? '|' : '<', kind->code);
}

}  // namespace systole
