#include "systole/stablehlo/text/attr_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <set>

#include "systole/base/log.h"
#include "systole/stablehlo/text/literal.h"

namespace systole::hlo {

// The mode of result_accuracy, which is checked and not kept.
enum class AccuracyMode : uint8_t { default_, highest, tolerance };
template <>
struct EnumNames<AccuracyMode> {
  static constexpr std::string_view kind = "result_accuracy_mode";
  static constexpr std::array<std::string_view, 3> names = {"DEFAULT", "HIGHEST", "TOLERANCE"};
};

}  // namespace systole::hlo

namespace systole::hlo::text {
namespace {

template <class T>
concept NamedEnum = requires {
  EnumNames<T>::kind;
};

// Converts an attribute value to a field. Errors: INVALID_ARGUMENT with the expected kind.
class ValueReader {
 public:
  ValueReader(Lexer& lexer, std::string_view what, const Attribute& attribute)
      : lexer_(lexer), what_(what), attribute_(attribute) {}

  // A name without a value is true.
  void read(bool& field) const {
    field = std::holds_alternative<Unit>(attribute_.value) || get<bool>("true or false");
  }
  void read(int64_t& field) const { field = get<int64_t>("an integer"); }
  // "foo", or @foo.
  void read(std::string& field) const {
    const auto* symbol = std::get_if<Symbol>(&attribute_.value);
    field = symbol != nullptr ? symbol->name : get<std::string>("a string");
  }
  void read(Symbol& field) const { field = get<Symbol>("a symbol such as @f"); }
  // dense<...>, or a number with its type.
  void read(Tensor& field) const {
    if (std::holds_alternative<Other>(attribute_.value) ||
        std::holds_alternative<int64_t>(attribute_.value)) {
      lexer_.seek(attribute_.offset);
      field = read_scalar(lexer_);
    } else if (const auto* splat = std::get_if<Splat>(&attribute_.value)) {
      lexer_.charge(attribute_.offset, splat->type.byte_size());
      field = elements_of(*splat);
    } else {
      field = get<Tensor>("dense<...>");
    }
  }
  void read(int& field) const {
    const int64_t value = get<int64_t>("an integer");
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
      throw wrong("an integer of 32 bits");
    }
    field = static_cast<int>(value);
  }
  void read(Dims& field) const {
    const std::vector<int64_t> values = integers();
    field.assign(values.begin(), values.end());
  }
  void read(std::vector<bool>& field) const {
    const std::vector<int64_t> values = integers();
    field.assign(values.begin(), values.end());
  }
  void read(std::vector<std::pair<int64_t, int64_t>>& field) const {
    if (std::holds_alternative<std::vector<Attribute>>(attribute_.value)) return read_pairs(field);
    const Tensor& pairs = get<Tensor>("dense<...> : tensor<Nx2xi64>");
    if (pairs.dtype() != DType::s64 || pairs.rank() != 2 || pairs.dim(1) != 2) {
      throw wrong("dense<...> : tensor<Nx2xi64>");
    }
    const std::span<const int64_t> values = pairs.data<int64_t>();
    field.clear();
    for (size_t i = 0; i < values.size(); i += 2) field.emplace_back(values[i], values[i + 1]);
  }

  // 1.0e-3 : f32
  void read(float& field) const {
    lexer_.seek(attribute_.offset);
    const bool negative = lexer_.accept('-');
    const Token token = lexer_.peek();
    if (!token.is(TokenKind::floating) && !token.is(TokenKind::integer)) throw wrong("a number");
    lexer_.take();
    const float magnitude =
        token.text.starts_with("0x")
            ? std::bit_cast<float>(static_cast<uint32_t>(get<int64_t>("32 bits")))
            : std::strtof(std::string(token.text).c_str(), nullptr);
    field = negative ? -magnitude : magnitude;
  }
  void read(AttrText& field) const { field.text = attribute_text(lexer_, attribute_); }
  template <class T>
  void read(std::optional<T>& field) const {
    read(field.emplace());
  }
  // [a, b]
  template <class T>
  void read(std::vector<T>& field) const {
    field.clear();
    for (const Attribute& element : get<std::vector<Attribute>>("a list")) {
      ValueReader(lexer_, what_, element).read(field.emplace_back());
    }
  }

  // #stablehlo<comparison_direction LT>, or #stablehlo.comparison_direction<LT>.
  template <NamedEnum E>
  void read(E& field) const {
    if (const Word* word = std::get_if<Word>(&attribute_.value)) {
      field = value_named<E>(attribute_.offset, word->text);
      return;
    }
    const std::string expected = fmt::format("#stablehlo<{} ...>", EnumNames<E>::kind);
    const auto& dialect = get<DialectAttribute>(expected);
    const bool named = dialect.name == fmt::format("stablehlo.{}", EnumNames<E>::kind);
    if (!named && dialect.name != "stablehlo" && dialect.name != "chlo") throw wrong(expected);
    lexer_.seek(dialect.body);
    if (!lexer_.accept('<') || !(named || lexer_.accept_word(EnumNames<E>::kind))) {
      throw wrong(expected);
    }
    const Token value = lexer_.expect(TokenKind::identifier, what_, "a name");
    field = value_named<E>(value.offset, value.text);
    lexer_.expect('>', what_);
  }

  template <class T>
  const T& get(std::string_view expected) const {
    if (const T* value = std::get_if<T>(&attribute_.value)) return *value;
    throw wrong(expected);
  }

 private:
  // array<i64: 1, 2>, the older dense<[1, 2]> : tensor<2xi64>, or a list of a structure's [1, 2].
  std::vector<int64_t> integers() const {
    if (const auto* array = std::get_if<DenseArray>(&attribute_.value)) return array->values;
    if (const auto* tensor = std::get_if<Tensor>(&attribute_.value)) {
      const bool integral = is_integer(tensor->dtype()) || tensor->dtype() == DType::pred;
      if (tensor->rank() != 1 || !integral) throw wrong("integers");
      const Tensor wide = tensor->cast(DType::s64);
      return {wide.data<int64_t>().begin(), wide.data<int64_t>().end()};
    }
    std::vector<int64_t> values;
    for (const Attribute& element : get<std::vector<Attribute>>("a list of integers")) {
      const bool* truth = std::get_if<bool>(&element.value);
      const ValueReader reader(lexer_, what_, element);
      values.push_back(truth != nullptr ? *truth : reader.get<int64_t>("an integer"));
    }
    return values;
  }

  // [[1, 1], [2, 2]]
  void read_pairs(std::vector<std::pair<int64_t, int64_t>>& field) const {
    field.clear();
    for (const Attribute& element : get<std::vector<Attribute>>("a list")) {
      const std::vector<int64_t> pair = ValueReader(lexer_, what_, element).integers();
      if (pair.size() != 2) throw wrong("lists of two integers");
      field.emplace_back(pair[0], pair[1]);
    }
  }

  template <NamedEnum E>
  E value_named(size_t offset, std::string_view name) const {
    const auto found = std::ranges::find(EnumNames<E>::names, name);
    if (found == EnumNames<E>::names.end()) {
      throw lexer_.error_at(offset, fmt::format("{}, got '{}', expected one such as {}", what_,
                                                name, EnumNames<E>::names[0]));
    }
    return static_cast<E>(found - EnumNames<E>::names.begin());
  }

  Error wrong(std::string_view expected) const {
    lexer_.seek(attribute_.offset);
    return lexer_.unexpected(what_, expected);
  }

  Lexer& lexer_;
  std::string_view what_;
  const Attribute& attribute_;
};

// [b, 0, 1, f]: letters and numbers of spatial dimensions, by axis.
std::vector<std::string> read_axis_names(Lexer& lexer, std::string_view what) {
  std::vector<std::string> names;
  lexer.expect('[', what);
  while (!lexer.accept(']')) {
    if (!names.empty()) lexer.expect(',', what);
    const Token token = lexer.peek();
    if (!token.is(TokenKind::identifier) && !token.is(TokenKind::integer)) {
      throw lexer.unexpected(what, "a letter or a number");
    }
    names.emplace_back(lexer.take().text);
  }
  return names;
}

struct AxisOrder {
  int64_t first;
  int64_t second;
  Dims spatial;
};

// Finds the letters `first` and `second` and the spatial dimensions.
AxisOrder read_axis_order(Lexer& lexer, std::string_view what, char first, char second) {
  const size_t begin = lexer.position();
  const std::vector<std::string> names = read_axis_names(lexer, what);
  const auto axis_of = [&](const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw lexer.error_at(begin, fmt::format("{}, got no '{}', expected {}, {} and 0, 1...", what,
                                              name, first, second));
    }
    return static_cast<int64_t>(found - names.begin());
  };
  AxisOrder order{axis_of({first}), axis_of({second}), {}};
  for (size_t i = 0; i + 2 < names.size(); ++i) order.spatial.push_back(axis_of(std::to_string(i)));
  return order;
}

// Attributes that exporters add to ops and that change no value.
bool is_remark(std::string_view attribute) {
  constexpr std::string_view kRemarks[] = {"name", "result_accuracy", "result_layout", "xla_shape"};
  return std::ranges::find(kRemarks, attribute) != std::end(kRemarks);
}

// Attributes that place values on devices or in memory, and attributes of older versions. They
// change no value here, but users may expect an effect, so a note is logged.
bool is_ignored(std::string_view attribute) {
  constexpr std::string_view kIgnored[] = {"device", "minor_to_major", "shard_count"};
  return std::ranges::find(kIgnored, attribute) != std::end(kIgnored);
}

// #stablehlo.conv<raw input_batch_dimension = 0, ...>
void read_raw_convolution(Lexer& lexer, const Dictionary& fields, const Attribute& attribute,
                          ConvolutionAttrs& a) {
  const std::pair<std::string_view, int64_t*> numbers[] = {
      {"input_batch_dimension", &a.input_batch_dimension},
      {"input_feature_dimension", &a.input_feature_dimension},
      {"kernel_input_feature_dimension", &a.kernel_input_feature_dimension},
      {"kernel_output_feature_dimension", &a.kernel_output_feature_dimension},
      {"output_batch_dimension", &a.output_batch_dimension},
      {"output_feature_dimension", &a.output_feature_dimension}};
  const std::pair<std::string_view, Dims*> lists[] = {
      {"input_spatial_dimensions", &a.input_spatial_dimensions},
      {"kernel_spatial_dimensions", &a.kernel_spatial_dimensions},
      {"output_spatial_dimensions", &a.output_spatial_dimensions}};
  const auto read = [&](std::string_view name, auto& field) {
    const Attribute* found = fields.find(name);
    if (found == nullptr) {
      throw lexer.error_at(
          attribute.offset,
          fmt::format("convolution: dimension_numbers, got no '{}', expected one", name));
    }
    ValueReader(lexer, name, *found).read(field);
  };
  for (const auto& [name, field] : numbers) read(name, *field);
  for (const auto& [name, field] : lists) read(name, *field);
  for (const NamedAttribute& entry : fields.entries) {
    const auto same = [&](const auto& row) { return row.first == entry.name; };
    if (std::ranges::any_of(numbers, same) || std::ranges::any_of(lists, same)) continue;
    throw lexer.error_at(
        entry.attribute.offset,
        fmt::format("convolution: dimension_numbers, got '{}', expected none of that name",
                    entry.name));
  }
}

// Reads #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]> from its body on; pretty forms have no '<'
// and '>'.
void read_convolution(Lexer& lexer, const std::string& what, const Attribute& attribute,
                      ConvolutionAttrs& a) {
  const bool brackets = lexer.accept('<');
  if (brackets && lexer.peek().is_word("raw")) {
    const Dictionary fields = read_raw_struct(lexer);
    return read_raw_convolution(lexer, fields, attribute, a);
  }
  const AxisOrder input = read_axis_order(lexer, what, 'b', 'f');
  // "x[" is a token of its own here, unlike "x0".
  lexer.expect_word("x", what);
  const AxisOrder kernel = read_axis_order(lexer, what, 'i', 'o');
  lexer.expect(TokenKind::arrow, what, "'->'");
  const AxisOrder output = read_axis_order(lexer, what, 'b', 'f');
  if (brackets) lexer.expect('>', what);
  a.input_batch_dimension = input.first;
  a.input_feature_dimension = input.second;
  a.input_spatial_dimensions = input.spatial;
  a.kernel_input_feature_dimension = kernel.first;
  a.kernel_output_feature_dimension = kernel.second;
  a.kernel_spatial_dimensions = kernel.spatial;
  a.output_batch_dimension = output.first;
  a.output_feature_dimension = output.second;
  a.output_spatial_dimensions = output.spatial;
}

// The reading visitor of ir/attrs.h.
class AttrReader {
 public:
  AttrReader(Lexer& lexer, std::string_view op, size_t offset,
             const std::vector<Dictionary>& dictionaries, bool pretty = false)
      : lexer_(lexer), op_(op), offset_(offset), dictionaries_(dictionaries), pretty_(pretty) {}

  template <class T>
  void required(std::string_view name, T& field) {
    read(name, find_required(name), field);
  }
  template <class T>
  void optional(std::string_view name, T& field, const T&) {
    if (const Attribute* attribute = find(name)) read(name, *attribute, field);
  }
  template <class T>
  void read_present(std::string_view name, std::optional<T>& field) {
    if (const Attribute* attribute = find(name)) read(name, *attribute, field.emplace());
  }
  void callee(std::string_view name, std::string& field) {
    Symbol symbol;
    required(name, symbol);
    field = symbol.name;
  }
  void callees(std::string_view name, std::vector<std::string>& field) {
    std::vector<Symbol> symbols;
    optional(name, symbols, {});
    for (const Symbol& symbol : symbols) field.push_back(symbol.name);
  }
  // A name without a value, or a bool.
  void flag(std::string_view name, bool& field) {
    const Attribute* attribute = find(name);
    if (attribute == nullptr) return;
    if (std::holds_alternative<Unit>(attribute->value)) {
      field = true;
    } else {
      read(name, *attribute, field);
    }
  }
  void rest(std::vector<NamedAttrText>& field) {
    for (const Dictionary& dictionary : dictionaries_) {
      for (const NamedAttribute& entry : dictionary.entries) {
        if (!used_.insert(entry.name).second) continue;
        NamedAttrText& text = field.emplace_back(NamedAttrText{entry.name, {}});
        if (!std::holds_alternative<Unit>(entry.attribute.value)) {
          read(entry.name, entry.attribute, text.attribute);
        }
      }
    }
  }
  void window_padding(std::string_view name, std::vector<std::pair<int64_t, int64_t>>& field) {
    optional(name, field, {});
  }

  // Pretty forms name the fields without the structure.
  template <class Fill>
  void structure(std::string_view name, std::string_view attribute_name, Fill&& fill) {
    if (pretty_ && find(name) == nullptr) return fill(*this);
    const Attribute& attribute = seek_body(name, attribute_name);
    const std::vector<Dictionary> fields = {read_struct(lexer_)};
    const std::string what = fmt::format("{}: {}", op_, name);
    AttrReader reader(lexer_, what, attribute.offset, fields);
    fill(reader);
    reader.check_all_used();
  }

  template <class Fill>
  void optional_structure(std::string_view name, std::string_view attribute_name, bool,
                          Fill&& fill) {
    if (find(name) != nullptr) structure(name, attribute_name, fill);
  }

  void convolution(std::string_view name, ConvolutionAttrs& a) {
    const Attribute& attribute = seek_body(name, "stablehlo.conv");
    read_convolution(lexer_, fmt::format("{}: {}", op_, name), attribute, a);
  }

  // Checks result_accuracy, and that all attributes that no field named change no value.
  void check_all_used() {
    check_result_accuracy();
    for (const Dictionary& dictionary : dictionaries_) {
      for (const NamedAttribute& entry : dictionary.entries) {
        const bool foreign = entry.name.find('.') != std::string::npos;
        if (foreign) check_dialect_attribute(lexer_, entry.attribute);
        if (foreign || is_remark(entry.name) || used_.contains(entry.name)) continue;
        if (is_ignored(entry.name)) {
          log_once(LogLevel::info, "{}: attribute '{}' of {} ignored", lexer_.file(), entry.name,
                   op_);
          continue;
        }
        throw lexer_.error_at(
            entry.attribute.offset,
            fmt::format("{}: attributes, got '{}', expected none of that name", op_, entry.name));
      }
    }
  }

 private:
  void check_result_accuracy();

  const Attribute* find(std::string_view name) {
    used_.insert(std::string(name));
    for (const Dictionary& dictionary : dictionaries_) {
      if (const Attribute* attribute = dictionary.find(name)) return attribute;
    }
    return nullptr;
  }

  const Attribute& find_required(std::string_view name) {
    if (const Attribute* attribute = find(name)) return *attribute;
    throw lexer_.error_at(offset_,
                          fmt::format("{}: attributes, got no '{}', expected one", op_, name));
  }

  template <class T>
  void read(std::string_view name, const Attribute& attribute, T& field) {
    const std::string what = fmt::format("{}: {}", op_, name);
    ValueReader(lexer_, what, attribute).read(field);
  }

  // Moves the lexer to the body of #<attribute_name><...>.
  const Attribute& seek_body(std::string_view name, std::string_view attribute_name) {
    const Attribute& attribute = find_required(name);
    const std::string what = fmt::format("{}: {}", op_, name);
    const std::string expected = fmt::format("#{}<...>", attribute_name);
    const auto& dialect = ValueReader(lexer_, what, attribute).get<DialectAttribute>(expected);
    if (dialect.name != attribute_name) {
      lexer_.seek(attribute.offset);
      throw lexer_.unexpected(what, expected);
    }
    lexer_.seek(dialect.body);
    return attribute;
  }

  Lexer& lexer_;
  std::string op_;
  size_t offset_;
  const std::vector<Dictionary>& dictionaries_;
  bool pretty_;
  std::set<std::string, std::less<>> used_;
};

// The permitted error of a result.
struct ResultAccuracy {
  float atol = 0;
  float rtol = 0;
  int64_t ulps = 0;
  AccuracyMode mode = AccuracyMode::default_;
  template <class V>
  void describe(V& v) {
    v.structure("result_accuracy", "stablehlo.result_accuracy", [this](auto& s) {
      s.optional("atol", atol, 0.0F);
      s.optional("rtol", rtol, 0.0F);
      s.optional("ulps", ulps, int64_t{0});
      s.required("mode", mode);
    });
  }
};

void check_accuracy(const Lexer& lexer, size_t offset, std::string_view what,
                    const ResultAccuracy& accuracy) {
  const bool zero = accuracy.atol == 0 && accuracy.rtol == 0 && accuracy.ulps == 0;
  const bool negative = accuracy.atol < 0 || accuracy.rtol < 0 || accuracy.ulps < 0;
  if (!negative && (zero || accuracy.mode == AccuracyMode::tolerance)) return;
  throw lexer.error_at(
      offset, fmt::format("{}, got atol {}, rtol {}, ulps {} with mode {}, expected {}", what,
                          accuracy.atol, accuracy.rtol, accuracy.ulps,
                          EnumNames<AccuracyMode>::names[static_cast<size_t>(accuracy.mode)],
                          negative ? "values >= 0" : "zeros but with mode TOLERANCE"));
}

void AttrReader::check_result_accuracy() {
  const auto has = [](const Dictionary& d) { return d.find("result_accuracy") != nullptr; };
  const auto found = std::ranges::find_if(dictionaries_, has);
  if (found == dictionaries_.end() || used_.contains("result_accuracy")) return;
  ResultAccuracy accuracy;
  accuracy.describe(*this);
  check_accuracy(lexer_, found->find("result_accuracy")->offset, op_ + ": result_accuracy",
                 accuracy);
}

// An element of a custom call's output_operand_aliases.
struct OutputAlias {
  Dims output_tuple_indices;
  int64_t operand_index = 0;
  Dims operand_tuple_indices;
  template <class V>
  void describe(V& v) {
    v.structure("output_operand_aliases", "stablehlo.output_operand_alias", [this](auto& s) {
      s.required("output_tuple_indices", output_tuple_indices);
      s.required("operand_index", operand_index);
      s.required("operand_tuple_indices", operand_tuple_indices);
    });
  }
};

// Reads a structure or an enumerator of any opcode's attributes.
class DialectAttributeReader {
 public:
  DialectAttributeReader(Lexer& lexer, const Attribute& attribute, const DialectAttribute& dialect)
      : lexer_(lexer), attribute_(attribute), dialect_(dialect) {}

  template <class Fill>
  void structure(std::string_view, std::string_view attribute_name, Fill&& fill) {
    if (dialect_.name != attribute_name) return;
    found_ = true;
    lexer_.seek(dialect_.body);
    const std::vector<Dictionary> fields = {read_struct(lexer_)};
    AttrReader reader(lexer_, dialect_.name, attribute_.offset, fields);
    fill(reader);
    reader.check_all_used();
  }
  template <class Fill>
  void optional_structure(std::string_view name, std::string_view attribute_name, bool,
                          Fill&& fill) {
    structure(name, attribute_name, fill);
  }
  void convolution(std::string_view, ConvolutionAttrs& a) {
    if (dialect_.name != "stablehlo.conv") return;
    found_ = true;
    lexer_.seek(dialect_.body);
    read_convolution(lexer_, dialect_.name, attribute_, a);
  }
  template <class T>
  void required(std::string_view, T& field) {
    enumerator(field);
  }
  template <class T>
  void optional(std::string_view, T& field, const T&) {
    enumerator(field);
  }
  template <class... Args>
  void callee(const Args&...) {}
  template <class... Args>
  void callees(const Args&...) {}
  template <class... Args>
  void flag(const Args&...) {}
  template <class... Args>
  void window_padding(const Args&...) {}
  template <class... Args>
  void rest(const Args&...) {}

  // Reads #stablehlo<comparison_direction LT> or #stablehlo.comparison_direction<LT> if T is its
  // type.
  template <class T>
  void enumerator(T& field) {
    if constexpr (NamedEnum<T>) {
      const std::string_view kind = EnumNames<T>::kind;
      if (dialect_.name != fmt::format("stablehlo.{}", kind)) {
        if (dialect_.name != "stablehlo") return;
        lexer_.seek(dialect_.body);
        if (!lexer_.accept('<') || !lexer_.peek().is_word(kind)) return;
      }
      found_ = true;
      ValueReader(lexer_, kind, attribute_).read(field);
    }
  }
  void enumerator(std::vector<Precision>&) {
    Precision element{};
    enumerator(element);
  }

  // Whether any of the members called has read the attribute.
  bool found() const { return found_; }

 private:
  Lexer& lexer_;
  const Attribute& attribute_;
  const DialectAttribute& dialect_;
  bool found_ = false;
};

// Attributes of StableHLO that no op here has: groups along the axes of a mesh. Their fields are
// not checked.
bool is_foreign_structure(std::string_view name) {
  constexpr std::string_view kNames[] = {"stablehlo.axis_ref", "stablehlo.mesh",
                                         "stablehlo.mesh_axis", "stablehlo.replica_group_mesh_axes",
                                         "stablehlo.sub_axis_info"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// Reads the encoding of a tensor: #stablehlo.bounds<2, ?> or #stablehlo.type_extensions<bounds =
// [2, ?]>. Returns false for an attribute of another name.
bool check_bounds(Lexer& lexer, const DialectAttribute& dialect) {
  const bool named = dialect.name == "stablehlo.type_extensions";
  if (!named && dialect.name != "stablehlo.bounds") return false;
  constexpr std::string_view kWhat = "bounds of a tensor";
  lexer.seek(dialect.body);
  lexer.expect('<', kWhat);
  if (named) {
    lexer.expect_word("bounds", kWhat);
    lexer.expect('=', kWhat);
    lexer.expect('[', kWhat);
  }
  do {
    if (!lexer.accept('?')) lexer.expect(TokenKind::integer, kWhat, "an integer >= 0 or ?");
  } while (lexer.accept(','));
  if (named) lexer.expect(']', kWhat);
  lexer.expect('>', kWhat);
  return true;
}

void check_stablehlo_attribute(Lexer& lexer, const Attribute& attribute,
                               const DialectAttribute& dialect) {
  if (check_bounds(lexer, dialect)) return;
  DialectAttributeReader reader(lexer, attribute, dialect);
  for (int i = 0; i < kNumOpcodes; ++i) {
    Attrs attrs = default_attrs(static_cast<Opcode>(i));
    std::visit([&](auto& fields) { fields.describe(reader); }, attrs);
  }
  OutputAlias().describe(reader);
  AccuracyMode mode{};
  reader.enumerator(mode);
  ResultAccuracy accuracy;
  accuracy.describe(reader);
  check_accuracy(lexer, attribute.offset, "result_accuracy", accuracy);
  lexer.seek(attribute.offset);
  // MHLO has more attributes than StableHLO.
  const bool from_mhlo = !lexer.peek().text.starts_with("#stablehlo");
  if (reader.found() || from_mhlo || is_foreign_structure(dialect.name)) return;
  throw lexer.unexpected("attribute", "one of StableHLO, such as #stablehlo<precision HIGH>");
}

}  // namespace

void check_dialect_attribute(Lexer& lexer, const Attribute& attribute) {
  if (const auto* list = std::get_if<std::vector<Attribute>>(&attribute.value)) {
    for (const Attribute& element : *list) check_dialect_attribute(lexer, element);
  } else if (const auto* dictionary = std::get_if<Dictionary>(&attribute.value)) {
    for (const NamedAttribute& entry : dictionary->entries) {
      check_dialect_attribute(lexer, entry.attribute);
    }
  } else if (const auto* dialect = std::get_if<DialectAttribute>(&attribute.value)) {
    if (dialect->name != "stablehlo" && !dialect->name.starts_with("stablehlo.")) return;
    const size_t position = lexer.position();
    check_stablehlo_attribute(lexer, attribute, *dialect);
    lexer.seek(position);
  }
}

Attrs read_attrs(Lexer& lexer, Opcode opcode, size_t offset,
                 const std::vector<Dictionary>& dictionaries, bool pretty) {
  const size_t position = lexer.position();
  Attrs attrs = default_attrs(opcode);
  AttrReader reader(lexer, to_string(opcode), offset, dictionaries, pretty);
  std::visit([&](auto& fields) { fields.describe(reader); }, attrs);
  reader.check_all_used();
  lexer.seek(position);
  return attrs;
}

LegacyAttrs read_legacy_attrs(Lexer& lexer, std::string_view op, size_t offset,
                              const std::vector<Dictionary>& dictionaries) {
  const size_t position = lexer.position();
  LegacyAttrs attrs;
  AttrReader reader(lexer, op, offset, dictionaries);
  const std::string_view stem = op.substr(op.find('.') + 1);
  if (stem == "broadcast") {
    reader.optional("broadcast_sizes", attrs.broadcast_sizes, Dims());
  } else if (stem == "get_tuple_element") {
    reader.optional("index", attrs.index, int64_t{0});
  } else if (stem == "torch_index_select") {
    reader.required("dim", attrs.dim);
    reader.required("batch_dims", attrs.batch_dims);
  } else if (stem != "dot") {
    reader.optional("einsum_config", attrs.einsum_config, std::string());
  }
  if (stem == "dot" || stem == "einsum")
    reader.optional("precision_config", attrs.precision_config, std::vector<Precision>());
  reader.check_all_used();
  lexer.seek(position);
  return attrs;
}

chlo::Attrs read_chlo_attrs(Lexer& lexer, std::string_view op, size_t offset,
                            const std::vector<Dictionary>& dictionaries) {
  const size_t position = lexer.position();
  chlo::Attrs attrs;
  AttrReader reader(lexer, op, offset, dictionaries);
  reader.read_present("broadcast_dimensions", attrs.broadcast_dimensions);
  reader.optional("comparison_direction", attrs.comparison_direction, ComparisonDirection::eq);
  reader.optional("compare_type", attrs.compare_type, ComparisonType::notype);
  reader.optional("k", attrs.k, int64_t{0});
  reader.optional("value", attrs.value, Tensor());
  reader.check_all_used();
  lexer.seek(position);
  return attrs;
}

int64_t read_integer_or(const Lexer& lexer, const Dictionary& dictionary, std::string_view name,
                        int64_t missing) {
  const Attribute* attribute = dictionary.find(name);
  if (attribute == nullptr) return missing;
  if (const auto* value = std::get_if<int64_t>(&attribute->value)) return *value;
  throw lexer.error_at(attribute->offset,
                       fmt::format("{}, got another kind, expected an integer", name));
}

}  // namespace systole::hlo::text
