#include "systole/stablehlo/text/attr_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "systole/stablehlo/text/lexer.h"
#include "systole/stablehlo/text/literal.h"

namespace systole::hlo::text {
std::string join(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

std::string list_text(const std::vector<std::string>& elements) {
  return fmt::format("[{}]", join(elements));
}

std::string array_text(std::string_view type, const std::vector<std::string>& elements) {
  return elements.empty() ? fmt::format("array<{}>", type)
                          : fmt::format("array<{}: {}>", type, join(elements));
}

template <class E>
std::string_view enum_text(E value) {
  return EnumNames<E>::names[static_cast<size_t>(value)];
}

// Returns text(element) for each element.
template <class List, class Text>
std::vector<std::string> texts(const List& list, Text&& text) {
  std::vector<std::string> result;
  result.reserve(list.size());
  for (const auto& element : list) result.push_back(text(element));
  return result;
}

std::string number_text(int64_t value) { return std::to_string(value); }
std::string bool_text(bool value) { return value ? "true" : "false"; }

// The spelling of attributes between braces.
class FullSpelling {
 public:
  explicit FullSpelling(int64_t max_literal_elements)
      : max_literal_elements_(max_literal_elements) {}

  std::string operator()(bool field) const { return bool_text(field); }
  std::string operator()(int64_t field) const { return fmt::format("{} : i64", field); }
  std::string operator()(int field) const { return fmt::format("{} : i32", field); }
  std::string operator()(float field) const { return float_text(field); }
  std::string operator()(const std::string& field) const { return quote(field); }
  std::string operator()(const AttrText& field) const { return field.text; }
  std::string operator()(const Dims& field) const {
    return array_text("i64", texts(field, number_text));
  }
  std::string operator()(const std::vector<bool>& field) const {
    return array_text("i1", texts(field, bool_text));
  }
  std::string operator()(const std::optional<std::vector<Dims>>& field) const {
    const auto list = [](const Dims& dims) { return list_text(texts(dims, number_text)); };
    return list_text(texts(*field, list));
  }
  std::string operator()(const Pairs& pairs) const {
    std::vector<int64_t> flat;
    for (const auto& [first, second] : pairs) flat.insert(flat.end(), {first, second});
    const Shape shape{static_cast<int64_t>(pairs.size()), 2};
    return (*this)(Tensor::of<int64_t>(shape, flat));
  }
  std::string operator()(const Tensor& field) const {
    return literal_text(field, max_literal_elements_);
  }
  template <class E>
  requires std::is_enum_v<E> std::string operator()(E field) const {
    return fmt::format("#stablehlo<{} {}>", EnumNames<E>::kind, enum_text(field));
  }
  template <class E>
  requires std::is_enum_v<E> std::string operator()(const std::vector<E>& field) const {
    return list_text(texts(field, [this](E element) { return (*this)(element); }));
  }

 private:
  int64_t max_literal_elements_;
};

// The spelling in pretty forms.
class ShortSpelling {
 public:
  explicit ShortSpelling(int64_t max_literal_elements) : full_(max_literal_elements) {}

  template <class T>
  std::string operator()(const T& field) const {
    if constexpr (std::is_enum_v<T>) {
      return std::string(enum_text(field));
    } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, int>) {
      return number_text(field);
    } else if constexpr (std::is_same_v<T, Dims>) {
      return list_text(texts(field, number_text));
    } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
      return list_text(texts(field, bool_text));
    } else if constexpr (std::is_same_v<T, Pairs>) {
      return list_text(texts(field, [](const auto& pair) {
        return fmt::format("[{}, {}]", pair.first, pair.second);
      }));
    } else {
      return full_(field);
    }
  }
  template <class E>
  requires std::is_enum_v<E> std::string operator()(const std::vector<E>& field) const {
    return list_text(texts(field, [](E element) { return std::string(enum_text(element)); }));
  }

 private:
  FullSpelling full_;
};

// The fields of a structure such as #stablehlo.gather<...>.
class StructWriter {
 public:
  template <class T>
  void required(std::string_view name, const T& field) {
    add(name, field, true);
  }
  template <class T>
  void optional(std::string_view name, const T& field, const T& missing) {
    add(name, field, field != missing);
  }

  std::vector<WrittenAttr> fields;

 private:
  void add(std::string_view name, const Dims& field, bool present) {
    fields.push_back({std::string(name), list_text(texts(field, number_text)), present, false});
  }
  void add(std::string_view name, int64_t field, bool present) {
    fields.push_back({std::string(name), number_text(field), present, false});
  }
  void add(std::string_view name, bool field, bool present) {
    fields.push_back({std::string(name), bool_text(field), present, false});
  }
  void add(std::string_view name, const AttrText& field, bool present) {
    fields.push_back({std::string(name), field.text, present, false});
  }
};

class AttrWriter {
 public:
  AttrWriter(const Syntax* syntax, int64_t max_literal_elements)
      : syntax_(syntax), full_(max_literal_elements), short_(max_literal_elements) {}

  template <class T>
  void required(std::string_view name, const T& field) {
    add(name, field, true);
  }
  template <class T>
  void optional(std::string_view name, const T& field, const T& missing) {
    add(name, field, !(field == missing));
  }
  void callee(std::string_view name, const std::string& field) {
    add_text(name, "@" + symbol_text(field));
  }
  void callees(std::string_view name, const std::vector<std::string>& field) {
    const auto symbol = [](const std::string& function) { return "@" + symbol_text(function); };
    if (!field.empty()) add_text(name, list_text(texts(field, symbol)));
  }
  void flag(std::string_view name, bool field) {
    if (field) add_text(name, "");
  }
  void rest(const std::vector<NamedAttrText>& field) {
    for (const NamedAttrText& entry : field) {
      add_text(symbol_text(entry.name), entry.attribute.text);
    }
  }
  template <class Fill>
  void optional_structure(std::string_view name, std::string_view attribute, bool present,
                          Fill&& fill) {
    if (present) structure(name, attribute, fill);
  }
  template <class Fill>
  void structure(std::string_view name, std::string_view attribute, Fill&& fill) {
    StructWriter writer;
    fill(writer);
    std::vector<std::string> present;
    bool in_syntax = false;
    for (WrittenAttr& field : writer.fields) {
      if (names(field.name)) {
        in_syntax = field.in_syntax = true;
        written.push_back(std::move(field));
      } else if (field.present) {
        present.push_back(fmt::format("{} = {}", field.name, field.text));
      }
    }
    if (!in_syntax) {
      add_text(name, fmt::format("#{}<{}>", attribute, join(present)));
    }
  }
  void window_padding(std::string_view name, const Pairs& padding) { required(name, padding); }
  void convolution(std::string_view name, const ConvolutionAttrs& a) {
    add_text(name,
             fmt::format("#stablehlo.conv<[{}]x[{}]->[{}]>",
                         axis_order('b', a.input_batch_dimension, 'f', a.input_feature_dimension,
                                    a.input_spatial_dimensions),
                         axis_order('i', a.kernel_input_feature_dimension, 'o',
                                    a.kernel_output_feature_dimension, a.kernel_spatial_dimensions),
                         axis_order('b', a.output_batch_dimension, 'f', a.output_feature_dimension,
                                    a.output_spatial_dimensions)));
  }

  std::vector<WrittenAttr> written;

 private:
  bool names(std::string_view field) const {
    return syntax_ != nullptr && syntax_->has_field(field);
  }
  template <class T>
  void add(std::string_view name, const T& field, bool present) {
    const bool in_syntax = names(name);
    if (!present && !in_syntax) return;
    written.push_back(
        {std::string(name), in_syntax ? short_(field) : full_(field), present, in_syntax});
  }
  // For attributes with the same spelling in both.
  void add_text(std::string_view name, std::string text) {
    written.push_back({std::string(name), std::move(text), true, names(name)});
  }

  // Returns "b, 0, 1, f". Leaves out an axis out of range, which inference rejects.
  static std::string axis_order(char first, int64_t first_axis, char second, int64_t second_axis,
                                const Dims& spatial) {
    std::vector<std::string> names(spatial.size() + 2, "?");
    const auto put = [&names](int64_t axis, std::string name) {
      if (axis >= 0 && axis < static_cast<int64_t>(names.size())) {
        names[axis] = std::move(name);
      }
    };
    put(first_axis, {first});
    put(second_axis, {second});
    for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
    return join(names);
  }

  const Syntax* syntax_;
  FullSpelling full_;
  ShortSpelling short_;
};

}  // namespace

std::vector<WrittenAttr> write_attrs(const Attrs& attrs, const Syntax* syntax,
                                     int64_t max_literal_elements) {
  AttrWriter writer(syntax, max_literal_elements);
  Attrs described = attrs;  // a description is of what can be read into, too
  std::visit([&writer](auto& fields) { fields.describe(writer); }, described);
  return std::move(writer.written);
}

std::string dictionary_text(const std::vector<WrittenAttr>& attrs) {
  std::vector<std::string> entries;
  for (const WrittenAttr& attr : attrs) {
    if (attr.in_syntax) continue;
    entries.push_back(attr.text.empty() ? attr.name : fmt::format("{} = {}", attr.name, attr.text));
  }
  return join(entries);
}

}  // namespace systole::hlo::text
