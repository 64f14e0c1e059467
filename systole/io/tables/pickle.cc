#include "systole/io/tables/pickle.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>

namespace systole {

using PickleKind = PickleValue::Kind;

// Runs the opcodes of a pickle.
class PickleParser {
 public:
  PickleParser(Pickle& out, std::string_view bytes) : out_(out), bytes_(bytes) {}

  void run() {
    while (true) {
      const size_t at = next_;
      const auto op = static_cast<unsigned char>(take(1)[0]);
      if (op == '.') {
        out_.root_ = pop();
        return;
      }
      if (!run_number(op) && !run_text(op) && !run_container(op) && !run_memo(op) &&
          !run_call(op)) {
        throw unimplemented(
            "{}: pickle opcode at byte {}, got 0x{:02x}, expected one of plain "
            "values and NumPy arrays",
            out_.path_, at, op);
      }
    }
  }

 private:
  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - next_) {
      throw make_error(Code::data_loss, "{}: pickle ends early, got {} bytes at {}, expected {}",
                       out_.path_, bytes_.size() - next_, next_, size);
    }
    const std::string_view result = bytes_.substr(next_, size);
    next_ += size;
    return result;
  }
  uint64_t take_unsigned(size_t size) {
    const std::string_view bytes = take(size);
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  std::string_view take_line() {
    const size_t end = bytes_.find('\n', next_);
    if (end == std::string_view::npos) (void)take(bytes_.size() - next_ + 1);
    const std::string_view line = bytes_.substr(next_, end - next_);
    next_ = end + 1;
    return line;
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw invalid_argument("{}: pickle before byte {}, got {}, expected a well-formed pickle",
                           out_.path_, next_, what);
  }

  void push(PickleValue value) { stack_.push_back(value); }
  void push_integer(int64_t value) { push({.kind = PickleKind::integer, .integer = value}); }
  PickleValue push_node(PickleKind kind, Pickle::Node node = {}) {
    out_.nodes_.push_back(std::move(node));
    const PickleValue value{.kind = kind, .integer = static_cast<int64_t>(out_.nodes_.size()) - 1};
    push(value);
    return value;
  }
  void push_text(std::string_view text) {
    push_node(PickleKind::text, {.items = {}, .text = std::string(text)});
  }
  // Removes values above the last mark only.
  PickleValue pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("too few values");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::vector<PickleValue> pop_to_mark() {
    if (marks_.empty()) fail("no mark");
    const auto begin = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
    std::vector<PickleValue> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  void extend(PickleKind kind, std::span<const PickleValue> items) {
    const PickleValue container = pop();
    if (container.kind != kind) fail("items of something else");
    auto& all = out_.nodes_[container.integer].items;
    all.insert(all.end(), items.begin(), items.end());
    push(container);
  }
  void push_tuple(size_t size) {
    std::vector<PickleValue> items(size);
    for (size_t i = size; i-- > 0;) items[i] = pop();
    push_node(PickleKind::tuple, {.items = std::move(items), .text = {}});
  }

  void push_decimal(std::string_view text) {
    if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("a wrong number");
    push_integer(value);
  }
  // A little-endian number of any length.
  void push_long(uint64_t size) {
    if (size > 8) {
      throw unimplemented("{}: pickled integer, got {} bytes, expected at most 8", out_.path_,
                          size);
    }
    if (size == 0) return push_integer(0);
    const uint64_t shift = 64 - 8 * size;
    push_integer(static_cast<int64_t>(take_unsigned(size) << shift) >> shift);
  }

  bool run_number(unsigned char op) {
    switch (op) {
      case 'K':
        push_integer(static_cast<int64_t>(take_unsigned(1)));
        return true;
      case 'M':
        push_integer(static_cast<int64_t>(take_unsigned(2)));
        return true;
      case 'J':
        push_integer(static_cast<int32_t>(static_cast<uint32_t>(take_unsigned(4))));
        return true;
      case 'I':
      case 'L':
        push_decimal(take_line());
        return true;
      case 0x8a:
        push_long(take_unsigned(1));
        return true;
      case 0x8b:
        push_long(take_unsigned(4));
        return true;
      case 'G': {
        std::string big(take(8));
        std::reverse(big.begin(), big.end());
        double value = 0;
        std::memcpy(&value, big.data(), 8);
        push({.kind = PickleKind::real, .real = value});
        return true;
      }
      case 'N':
        push({});
        return true;
      case 0x88:
      case 0x89:
        push({.kind = PickleKind::boolean, .integer = op == 0x88 ? 1 : 0});
        return true;
      default:
        return false;
    }
  }

  bool run_text(unsigned char op) {
    size_t length_bytes = 0;
    switch (op) {
      case 'U':   // SHORT_BINSTRING
      case 'C':   // SHORT_BINBYTES
      case 0x8c:  // SHORT_BINUNICODE
        length_bytes = 1;
        break;
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
      case 'X':  // BINUNICODE
        length_bytes = 4;
        break;
      case 0x8d:  // BINUNICODE8
      case 0x8e:  // BINBYTES8
        length_bytes = 8;
        break;
      default:
        return false;
    }
    push_text(take(take_unsigned(length_bytes)));
    return true;
  }

  bool run_container(unsigned char op) {
    switch (op) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case ']':
        push_node(PickleKind::list);
        return true;
      case ')':
        push_node(PickleKind::tuple);
        return true;
      case '}':
        push_node(PickleKind::dict);
        return true;
      case 'l':
      case 't':
      case 'd': {
        const PickleKind kind = op == 'l'   ? PickleKind::list
                                : op == 't' ? PickleKind::tuple
                                            : PickleKind::dict;
        push_node(kind, {.items = pop_to_mark(), .text = {}});
        return true;
      }
      case 0x85:
      case 0x86:
      case 0x87:
        push_tuple(op - 0x84U);
        return true;
      case 'a': {
        const PickleValue item = pop();
        extend(PickleKind::list, {&item, 1});
        return true;
      }
      case 'e':
        extend(PickleKind::list, pop_to_mark());
        return true;
      case 's': {
        const PickleValue value = pop();
        const std::array pair = {pop(), value};
        extend(PickleKind::dict, pair);
        return true;
      }
      case 'u':
        extend(PickleKind::dict, pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool run_memo(unsigned char op) {
    switch (op) {
      case 0x80:  // PROTO
        if (take_unsigned(1) > 5) fail("a protocol after 5");
        return true;
      case 0x95:  // FRAME
        (void)take(8);
        return true;
      case 'q':
      case 'r': {
        const uint64_t index = take_unsigned(op == 'q' ? 1 : 4);
        const PickleValue value = pop();
        push(value);
        memo_[index] = value;
        return true;
      }
      case 0x94: {  // MEMOIZE
        const PickleValue value = pop();
        push(value);
        const uint64_t index = memo_.size();
        memo_[index] = value;
        return true;
      }
      case 'h':
      case 'j': {
        const auto found = memo_.find(take_unsigned(op == 'h' ? 1 : 4));
        if (found == memo_.end()) fail("a value that was not stored");
        push(found->second);
        return true;
      }
      case '0':
        (void)pop();
        return true;
      case '1':
        (void)pop_to_mark();
        return true;
      default:
        return false;
    }
  }

  bool run_call(unsigned char op) {
    switch (op) {
      case 'c': {
        std::string name(take_line());
        name += ' ';
        name += take_line();
        push_node(PickleKind::global, {.items = {}, .text = std::move(name)});
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const PickleValue name = pop();
        const PickleValue module = pop();
        std::string both(out_.text(module));
        both += ' ';
        both += out_.text(name);
        push_node(PickleKind::global, {.items = {}, .text = std::move(both)});
        return true;
      }
      case 'R': {
        const PickleValue arguments = pop();
        const PickleValue callee = pop();
        push_node(PickleKind::call, {.items = {callee, arguments}, .text = {}});
        return true;
      }
      case 'b': {
        const PickleValue state = pop();
        extend(PickleKind::call, {&state, 1});
        return true;
      }
      default:
        return false;
    }
  }

  Pickle& out_;
  std::string_view bytes_;
  size_t next_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::unordered_map<uint64_t, PickleValue> memo_;
};

Pickle::Pickle(std::string path, std::string_view bytes) : path_(std::move(path)) {
  PickleParser(*this, bytes).run();
}

const Pickle::Node* Pickle::node_of(const PickleValue& value) const {
  if (value.kind < PickleKind::text) return nullptr;
  return &nodes_.at(static_cast<size_t>(value.integer));
}

std::span<const PickleValue> Pickle::items(const PickleValue& value) const {
  const Node* const node = node_of(value);
  return node == nullptr ? std::span<const PickleValue>() : node->items;
}

std::string_view Pickle::text(const PickleValue& value) const {
  const Node* const node = node_of(value);
  return node == nullptr ? std::string_view() : node->text;
}

const PickleValue& Pickle::at(const PickleValue& dict, std::string_view key) const {
  if (dict.kind != PickleKind::dict) {
    throw invalid_argument("{}: pickle, got another value, expected a dict with '{}'", path_, key);
  }
  const auto all = items(dict);
  for (size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i].kind == PickleKind::text && text(all[i]) == key) return all[i + 1];
  }
  throw not_found("{}: pickled dict, got no key '{}'", path_, key);
}

std::span<const PickleValue> Pickle::array_state(const PickleValue& value) const {
  const auto call = items(value);
  const bool array = value.kind == PickleKind::call && call.size() == 3 &&
                     (text(call[0]) == "numpy.core.multiarray _reconstruct" ||
                      text(call[0]) == "numpy._core.multiarray _reconstruct");
  const auto state = array ? items(call[2]) : std::span<const PickleValue>();
  if (state.size() != 5) {
    throw invalid_argument("{}: pickle, got another value, expected a NumPy array", path_);
  }
  return state;
}

std::span<const PickleValue> Pickle::elements(const PickleValue& value) const {
  const PickleValue& list = value.kind == PickleKind::list ? value : array_state(value)[4];
  if (list.kind != PickleKind::list) {
    throw invalid_argument("{}: pickle, got another value, expected a list of objects", path_);
  }
  return items(list);
}

std::vector<int32_t> Pickle::int_list(const PickleValue& value) const {
  if (value.kind != PickleKind::list) {
    throw invalid_argument("{}: pickled element, got another value, expected a list of integers",
                           path_);
  }
  std::vector<int32_t> result;
  result.reserve(items(value).size());
  for (const PickleValue& item : items(value)) {
    if (item.kind != PickleKind::integer || item.integer < std::numeric_limits<int32_t>::min() ||
        item.integer > std::numeric_limits<int32_t>::max()) {
      throw invalid_argument("{}: pickled list, got another item, expected integers of 32 bits",
                             path_);
    }
    result.push_back(static_cast<int32_t>(item.integer));
  }
  return result;
}

std::string Pickle::raw_bytes(const PickleValue& value) const {
  if (value.kind == PickleKind::text) return std::string(text(value));
  // Python 3 writes bytes for Python 2 as _codecs.encode(text, 'latin1').
  const auto call = items(value);
  if (value.kind != PickleKind::call || call.empty() || text(call[0]) != "_codecs encode") {
    throw invalid_argument("{}: pickle, got another value, expected bytes", path_);
  }
  const auto arguments = items(call[1]);
  const std::string_view utf8 = arguments.empty() ? std::string_view() : text(arguments[0]);
  std::string result;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c < 0x80) {
      result += static_cast<char>(c);
    } else if ((c & 0xfcU) == 0xc0U && i + 1 < utf8.size()) {
      result += static_cast<char>((c & 3U) << 6U | (static_cast<unsigned char>(utf8[++i]) & 63U));
    } else {
      throw invalid_argument("{}: pickled bytes, got a character beyond Latin-1", path_);
    }
  }
  return result;
}

Tensor Pickle::byte_array(const PickleValue& value) const {
  const auto state = array_state(value);
  const auto type = items(state[2]);
  const auto arguments = type.size() < 2 ? std::span<const PickleValue>() : items(type[1]);
  const std::string name = arguments.empty() ? std::string() : raw_bytes(arguments[0]);
  if (name != "u1" && name != "|u1") {
    throw invalid_argument("{}: pickled array, got elements of type '{}', expected 'u1'", path_,
                           name);
  }
  Dims dims;
  for (const PickleValue& size : items(state[1])) {
    if (size.kind != PickleKind::integer || size.integer < 0) {
      throw invalid_argument("{}: pickled array, got a wrong shape", path_);
    }
    dims.push_back(size.integer);
  }
  const std::string bytes = raw_bytes(state[4]);
  const Shape shape(std::move(dims));
  if (static_cast<size_t>(shape.num_elements()) != bytes.size()) {
    throw make_error(Code::data_loss, "{}: pickled array, got {} bytes, expected {} for {}", path_,
                     bytes.size(), shape.num_elements(), shape);
  }
  Tensor result(DType::u8, shape);
  std::memcpy(result.raw(), bytes.data(), bytes.size());
  return result;
}

}  // namespace systole
