#include "systole/tpu_v1/assembler/assembler.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "systole/base/suggest.h"
#include "systole/tpu_v1/isa/encoding.h"

namespace systole::tpu_v1 {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr int64_t kMaxTextArray = 512;                        // less than kMaxArray
constexpr uint64_t kMaxTile = kMaxTextArray * kMaxTextArray;  // bytes
constexpr uint64_t kMaxBytes = uint64_t{1} << 28;  // of a constant; of all words with a count

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find(';'));
  std::vector<std::string_view> words;
  for (size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;
       begin = line.find_first_not_of(kBlanks, begin)) {
    const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// Returns the parts of "a.b" or "a=b" around the first `mark`; the second is empty without it.
std::pair<std::string_view, std::string_view> split(std::string_view word, char mark) {
  const size_t at = word.find(mark);
  if (at == std::string_view::npos) return {word, {}};
  return {word.substr(0, at), word.substr(at + 1)};
}

std::optional<int64_t> parse_int(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "none", "a", "a or b", "a, b or c".
std::string one_of(std::span<const std::string> names) {
  std::string text = names.empty() ? "none" : names.front();
  for (size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

class ProgramParser {
 public:
  explicit ProgramParser(const std::string& path) : path_(path) {}

  void line(std::string_view text) {
    ++line_;
    const std::vector<std::string_view> words = words_of(text);
    if (words.empty()) return;
    const std::span<const std::string_view> rest(words.data() + 1, words.size() - 1);
    if (words[0] == "+") {
      append_bytes(rest);
    } else if (words[0].starts_with(".")) {
      directive(words[0], rest);
    } else {
      instruction(words[0], rest);
    }
  }
  Program finish() && { return std::move(program_); }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw invalid_argument("{}:{}: {}", path_, line_,
                           fmt::format(format, std::forward<Args>(args)...));
  }

  int64_t number(std::string_view what, std::string_view text, int64_t most = INT64_MAX) const {
    const std::optional<int64_t> value = parse_int(text);
    if (!value) fail("{}, got '{}', expected a number", what, text);
    if (most != INT64_MAX && (*value < 0 || *value > most))
      fail("{}, got {}, expected 0 to {}", what, *value, most);
    return *value;
  }

  std::string_view only(std::string_view what, std::span<const std::string_view> words) const {
    if (words.size() != 1) fail("{}, got {} words after it, expected one", what, words.size());
    return words[0];
  }

  void directive(std::string_view name, std::span<const std::string_view> words) {
    bytes_ = nullptr;
    if (name == ".array") {
      const int64_t array = number(name, only(name, words));
      if (array < kMinArray || array > kMaxTextArray) {
        fail(".array, got {}, expected {} to {}", array, kMinArray, kMaxTextArray);
      }
      program_.array = static_cast<int>(array);
    } else if (name == ".rounding") {
      const std::string_view mode = only(name, words);
      if (mode != "tflite" && mode != "single")
        fail(".rounding, got '{}', expected tflite or single", mode);
      program_.rounding = mode == "tflite" ? Rounding::tflite : Rounding::single;
    } else if (name == ".tile" || name == ".constant") {
      data(name, words);
    } else if (name == ".input" || name == ".output") {
      port(name == ".output", words);
    } else {
      fail("directive, got '{}', expected .array, .rounding, .tile, .constant, .input or .output",
           name);
    }
  }

  void data(std::string_view name, std::span<const std::string_view> words) {
    if (words.empty()) fail("{}, got nothing after it, expected a number", name);
    const bool tile = name == ".tile";
    const int64_t where = number(name, words[0], tile ? int64_t{UINT32_MAX} : INT64_MAX - 1);
    if (tile) {
      const auto [entry, added] = program_.tiles.try_emplace(static_cast<uint32_t>(where));
      if (!added) fail(".tile {}, got two, expected one", where);
      bytes_ = &entry->second;
      max_bytes_ = kMaxTile;
    } else {
      bytes_ = &program_.constants.emplace_back(Constant{static_cast<uint64_t>(where), {}}).bytes;
      max_bytes_ = kMaxBytes;
    }
    append_bytes(words.subspan(1));
  }

  void append_bytes(std::span<const std::string_view> words) {
    if (bytes_ == nullptr) fail("'+', got no .tile or .constant before it, expected one");
    for (const std::string_view word : words) {
      const auto [hex, count] = split(word, '*');
      if (hex.empty() || hex.size() % 2 != 0)
        fail("bytes, got '{}', expected pairs of hexadecimal digits", word);
      std::string part;
      for (size_t i = 0; i < hex.size(); i += 2) {
        uint8_t value = 0;
        const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
        if (error != std::errc() || end != hex.data() + i + 2) {
          fail("bytes, got '{}', expected pairs of hexadecimal digits", word);
        }
        part.push_back(static_cast<char>(value));
      }
      const int64_t times =
          hex.size() == word.size() ? 1 : number("repetitions", count, int64_t{kMaxBytes});
      const uint64_t added = part.size() * static_cast<uint64_t>(times);
      if (bytes_->size() + added > max_bytes_) {
        fail("bytes, got more than {}, expected at most that", max_bytes_);
      }
      if (times > 1) repeated_ += added;
      if (repeated_ > kMaxBytes) {
        fail("repetitions, got more than {} bytes in the program, expected at most that",
             kMaxBytes);
      }
      for (int64_t i = 0; i < times; ++i) *bytes_ += part;
    }
  }

  void port(bool output, std::span<const std::string_view> words) {
    if (words.empty()) fail("port, got no name, expected one");
    Port port{.name = std::string(words[0]), .output = output};
    for (const std::string_view word : words.subspan(1)) {
      const auto [key, value] = split(word, '=');
      if (key == "element") {
        port.element = element(value);
      } else if (key == "offset") {
        port.offset = static_cast<uint64_t>(number(key, value, INT64_MAX - 1));
      } else if (key == "rows") {
        port.rows = static_cast<uint32_t>(number(key, value, UINT32_MAX));
      } else if (key == "bytes") {
        port.row_bytes = static_cast<uint32_t>(number(key, value, UINT32_MAX));
      } else if (key == "stride") {
        port.stride = static_cast<uint32_t>(number(key, value, UINT32_MAX));
      } else {
        fail("key of a port, got '{}', expected element, offset, rows, bytes or stride", key);
      }
    }
    program_.ports.push_back(std::move(port));
  }

  Element element(std::string_view name) const {
    if (name == "s8") return Element::s8;
    if (name == "u8") return Element::u8;
    if (name != "s16") fail("element, got '{}', expected s8, u8 or s16", name);
    return Element::s16;
  }

  void instruction(std::string_view word, std::span<const std::string_view> words) {
    bytes_ = nullptr;
    const auto [name, flags] = split(word, '.');
    Instruction parsed{.opcode = opcode(name)};
    for (std::string_view left = flags; !left.empty();) {
      const auto [flag, more] = split(left, '.');
      parsed.flags |= flag_bit(parsed.opcode, flag);
      left = more;
    }
    for (const std::string_view assigned : words) assign(parsed, assigned);
    try {
      check_instruction(parsed, static_cast<int64_t>(program_.instructions.size()));
    } catch (const Error& error) {
      fail("{}", error.message());
    }
    program_.instructions.push_back(parsed);
  }

  Opcode opcode(std::string_view name) const {
    std::vector<std::string> names;
    for (int i = 0; i < kOpcodes; ++i) {
      names.emplace_back(name_of(static_cast<Opcode>(i)));
      if (names.back() == name) return static_cast<Opcode>(i);
    }
    fail("opcode, got '{}', expected {}{}", name, one_of(names), did_you_mean(name, names));
  }

  int64_t flag_bit(Opcode opcode, std::string_view name) const {
    std::vector<std::string> names;
    for (const FlagName& flag : flags_of(opcode)) {
      if (flag.name == name) return flag.bit;
      names.emplace_back(flag.name);
    }
    fail("flag of {}, got '{}', expected {}{}", name_of(opcode), name, one_of(names),
         did_you_mean(name, names));
  }

  void assign(Instruction& parsed, std::string_view word) const {
    const auto [key, value] = split(word, '=');
    if (parsed.opcode == Opcode::set) {
      parsed.reg = register_index(key);
      parsed.value = number(key, value);
      return;
    }
    std::vector<std::string> names;
    for (const FieldLayout& field : fields_of(parsed.opcode)) {
      if (field.kind == FieldKind::flags) continue;
      names.emplace_back(field.name);
      if (field.name != key) continue;
      parsed.*field.member = field.kind == FieldKind::unit ? unit(value) : number(key, value);
      return;
    }
    fail("field of {}, got '{}', expected {}{}", name_of(parsed.opcode), key, one_of(names),
         did_you_mean(key, names));
  }

  int64_t register_index(std::string_view name) const {
    std::vector<std::string> names;
    for (int i = 0; i < kRegisters; ++i) {
      names.emplace_back(name_of(static_cast<Register>(i)));
      if (names.back() == name) return i;
    }
    fail("register, got '{}', expected {}{}", name, one_of(names), did_you_mean(name, names));
  }

  int64_t unit(std::string_view name) const {
    const auto found = std::find(kUnitNames.begin(), kUnitNames.end(), name);
    if (found == kUnitNames.end()) {
      fail("unit, got '{}', expected host_in, weights, matrix, activation or host_out", name);
    }
    return found - kUnitNames.begin();
  }

  const std::string& path_;
  int64_t line_ = 0;
  Program program_;
  std::string* bytes_ = nullptr;  // what '+' continues
  uint64_t max_bytes_ = 0;        // of it
  uint64_t repeated_ = 0;         // bytes of words with a count, such as 00*64
};

}  // namespace

Program assemble(std::string_view text, const std::string& path) {
  ProgramParser parser(path);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    parser.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(parser).finish();
}

}  // namespace systole::tpu_v1
