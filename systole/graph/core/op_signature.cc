#include "systole/graph/core/op_signature.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <unordered_map>

#include "systole/base/mutex.h"

namespace systole {
namespace {

constexpr std::string_view kKindNames[] = {
    "bool",   "int",  "float",     "string",       "type",       "shape",
    "tensor", "func", "list(int)", "list(string)", "list(type)", "list(shape)"};

Error broken_signature(std::string_view text) {
  return internal_error("op signature: got '{}', expected TensorFlow's notation", text);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The parts between commas outside quotes and brackets.
std::vector<std::string_view> list_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  bool quoted = false;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '\'') quoted = !quoted;
    if (quoted && i < text.size()) continue;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c != ',' || depth > 0) continue;
    const std::string_view part = trimmed(text.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

template <class T>
T number_of(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) throw broken_signature(text);
  return number;
}

std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '\'' || text.back() != '\'') throw broken_signature(text);
  return std::string(text.substr(1, text.size() - 2));
}

std::vector<std::string_view> elements_of(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') throw broken_signature(text);
  return list_parts(text.substr(1, text.size() - 2));
}

AttrValue value_of(AttrKind kind, std::string_view text) {
  switch (kind) {
    case AttrKind::boolean:
      if (text != "true" && text != "false") throw broken_signature(text);
      return text == "true";
    case AttrKind::integer:
      return number_of<int64_t>(text);
    case AttrKind::floating:
      return number_of<double>(text);
    case AttrKind::string:
      return unquoted(text);
    case AttrKind::type:
      return dtype_from_tf(text);
    case AttrKind::integers: {
      std::vector<int64_t> values;
      for (const std::string_view part : elements_of(text)) {
        values.push_back(number_of<int64_t>(part));
      }
      return values;
    }
    case AttrKind::strings:
    case AttrKind::types: {
      std::vector<std::string> values;
      for (const std::string_view part : elements_of(text)) values.push_back(unquoted(part));
      return values;
    }
    default:
      throw broken_signature(text);
  }
}

SignatureAttr parse_attr(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw broken_signature(text);
  SignatureAttr attr{.name = std::string(trimmed(text.substr(0, colon)))};
  std::string_view rest = text.substr(colon + 1);
  std::string_view fallback;
  if (const size_t equals = rest.find('='); equals != std::string_view::npos) {
    fallback = rest.substr(equals + 1);
    attr.fixed = fallback.starts_with('=');
    if (attr.fixed) fallback.remove_prefix(1);
    rest = rest.substr(0, equals);
  }
  const auto* const kind = std::ranges::find(kKindNames, trimmed(rest));
  if (kind == std::end(kKindNames)) throw broken_signature(text);
  attr.kind = static_cast<AttrKind>(kind - std::begin(kKindNames));
  if (!fallback.empty()) attr.fallback = value_of(attr.kind, trimmed(fallback));
  return attr;
}

class SignatureParser {
 public:
  explicit SignatureParser(std::string_view attrs) {
    for (const std::string_view part : list_parts(attrs)) result_.attrs.push_back(parse_attr(part));
  }

  std::vector<SignatureArg> args(std::string_view text) {
    std::vector<SignatureArg> args;
    for (const std::string_view part : list_parts(text)) args.push_back(arg(part));
    return args;
  }
  OpSignature& result() { return result_; }

 private:
  SignatureArg arg(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) throw broken_signature(text);
    SignatureArg arg{.name = std::string(trimmed(text.substr(0, colon)))};
    std::string_view type = trimmed(text.substr(colon + 1));
    if (const size_t star = type.find('*'); star != std::string_view::npos) {
      arg.count_attr = std::string(trimmed(type.substr(0, star)));
      type = trimmed(type.substr(star + 1));
      imply(arg.count_attr, AttrKind::integer);
    }
    if (const std::optional<DType> dtype = known_dtype(type)) {
      arg.dtype = *dtype;
      return arg;
    }
    arg.type_attr = std::string(type);
    const AttrKind kind = imply(arg.type_attr, AttrKind::type);
    arg.several_types = kind == AttrKind::types || kind == AttrKind::strings;
    return arg;
  }

  // TensorFlow's dtypes have names in lower case and digits; that of an attribute has another.
  std::optional<DType> known_dtype(std::string_view name) const {
    if (result_.find(name) != nullptr) return std::nullopt;
    try {
      return dtype_from_tf(name);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  AttrKind imply(const std::string& name, AttrKind kind) {
    if (const SignatureAttr* attr = result_.find(name)) return attr->kind;
    result_.attrs.push_back({.name = name, .kind = kind});
    return kind;
  }

  OpSignature result_;
};

size_t count_of(const SignatureArg& arg, const AttrMap& attrs, size_t left) {
  if (!arg.is_list()) return 1;
  const auto it = attrs.find(arg.several_types ? arg.type_attr : arg.count_attr);
  if (it != attrs.end()) {
    if (const auto* count = std::get_if<int64_t>(&it->second)) {
      return static_cast<size_t>(std::max<int64_t>(*count, 0));
    }
    if (const auto* types = std::get_if<std::vector<std::string>>(&it->second)) {
      return types->size();
    }
  }
  return left;
}

std::string type_name(DType dtype) { return std::string(dtype_info(dtype).tf_name); }

template <class DTypeOf>
void add_implied(const std::vector<ArgRange>& ranges, const OpSignature& signature,
                 const Node& node, const DTypeOf& dtype_of, AttrMap& attrs) {
  const auto add = [&](const std::string& name, AttrValue value) {
    if (name.empty() || node.attrs().contains(name) || attrs.contains(name)) return;
    const SignatureAttr* attr = signature.find(name);
    if (attr != nullptr && attr->fixed) return;
    attrs.emplace(name, std::move(value));
  };
  for (const ArgRange& range : ranges) {
    add(range.arg->count_attr, static_cast<int64_t>(range.count));
    if (range.arg->several_types) {
      std::vector<std::string> types;
      for (size_t i = 0; i < range.count; ++i)
        types.push_back(type_name(dtype_of(range.begin + i)));
      add(range.arg->type_attr, std::move(types));
    } else if (range.count > 0) {
      add(range.arg->type_attr, dtype_of(range.begin));
    }
  }
}

}  // namespace

Shape parse_shape(std::string_view text) {
  Dims dims;
  const auto broken = [&] {
    return invalid_argument("shape, got '{}', expected sizes like [28,28]", text);
  };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') throw broken();
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    int64_t size = kUnknown;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (part != "?" && (error != std::errc() || end != part.data() + part.size())) throw broken();
    dims.push_back(size);
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  return Shape(std::move(dims));
}

std::string_view to_string(AttrKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

const SignatureAttr* OpSignature::find(std::string_view attr) const {
  const auto it = std::ranges::find(attrs, attr, &SignatureAttr::name);
  return it == attrs.end() ? nullptr : &*it;
}

int OpSignature::min_inputs() const {
  return static_cast<int>(
      std::ranges::count_if(inputs, [](const SignatureArg& arg) { return !arg.several_types; }));
}

bool OpSignature::takes_more() const {
  return std::ranges::any_of(inputs, [](const SignatureArg& arg) { return arg.is_list(); });
}

std::vector<ArgRange> divide_among(const std::vector<SignatureArg>& args, const AttrMap& attrs,
                                   size_t tensors) {
  std::vector<ArgRange> ranges;
  size_t begin = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t after = args.size() - i - 1;  // one tensor each
    const size_t left = tensors - std::min(tensors, begin + after);
    const size_t count = std::min(count_of(args[i], attrs, left), tensors - begin);
    ranges.push_back({&args[i], begin, count});
    begin += count;
  }
  return ranges;
}

OpSignature parse_signature(std::string_view inputs, std::string_view outputs,
                            std::string_view attrs) {
  SignatureParser parser(attrs);
  std::vector<SignatureArg> in = parser.args(inputs);
  std::vector<SignatureArg> out = parser.args(outputs);
  OpSignature signature = std::move(parser.result());
  signature.inputs = std::move(in);
  signature.outputs = std::move(out);
  return signature;
}

const OpSignature& signature_of(const OpDef& op) {
  static Mutex mutex;
  static std::unordered_map<const OpDef*, OpSignature> signatures;  // entries never move
  const MutexLock lock(mutex);
  const auto it = signatures.find(&op);
  if (it != signatures.end()) return it->second;
  return signatures.emplace(&op, parse_signature(op.inputs, op.outputs, op.attrs)).first->second;
}

std::string name_in_function(const Node& node, int index) {
  const auto position = static_cast<size_t>(index);
  const auto tensors = static_cast<size_t>(node.num_outputs());
  for (const ArgRange& range :
       divide_among(signature_of(node.op()).outputs, node.attrs(), tensors)) {
    if (position < range.begin + range.count) {
      return fmt::format("{}:{}", range.arg->name, position - range.begin);
    }
  }
  return fmt::format("output:{}", index);
}

AttrMap implied_attrs(const Node& node) {
  AttrMap attrs;
  const OpSignature& signature = signature_of(node.op());
  const auto inputs = static_cast<size_t>(node.num_inputs());
  add_implied(
      divide_among(signature.inputs, node.attrs(), inputs), signature, node,
      [&](size_t i) { return node.input(static_cast<int>(i)).dtype(); }, attrs);
  const auto outputs = static_cast<size_t>(node.num_outputs());
  add_implied(
      divide_among(signature.outputs, node.attrs(), outputs), signature, node,
      [&](size_t i) { return node.output_types()[i].dtype; }, attrs);
  return attrs;
}

}  // namespace systole
