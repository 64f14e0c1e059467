#include "systole/session/graph_def/graph_def_attrs.h"

#include <algorithm>

#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

using Ints = std::vector<int64_t>;
using Texts = std::vector<std::string>;
using Message = tensorflow::AttrValue;

Texts type_names(const Message::ListValue& list) {
  Texts names;
  for (const int type : list.type()) {
    names.emplace_back(dtype_info(dtype_from_message(type)).tf_name);
  }
  return names;
}

Texts shape_texts(std::string_view what, const Message::ListValue& list) {
  Texts shapes;
  for (const auto& shape : list.shape()) {
    shapes.push_back(shape_from_message(what, shape).value_or(Shape({kUnknown})).to_string());
  }
  return shapes;
}

bool is_list_kind(AttrKind kind) {
  return kind == AttrKind::integers || kind == AttrKind::strings || kind == AttrKind::types ||
         kind == AttrKind::shapes;
}

// A list without elements has no kind in a message.
bool has_kind(const Message& value, AttrKind kind) {
  const Message::ListValue& list = value.list();
  switch (kind) {
    case AttrKind::boolean:
      return value.value_case() == Message::kB;
    case AttrKind::integer:
      return value.value_case() == Message::kI;
    case AttrKind::floating:
      return value.value_case() == Message::kF;
    case AttrKind::string:
      return value.value_case() == Message::kS;
    case AttrKind::type:
      return value.value_case() == Message::kType;
    case AttrKind::shape:
      return value.value_case() == Message::kShape;
    case AttrKind::tensor:
      return value.value_case() == Message::kTensor;
    case AttrKind::function:
      return value.value_case() == Message::kFunc;
    case AttrKind::integers:
      return list.i_size() > 0 || list.ByteSizeLong() == 0;
    case AttrKind::strings:
      return list.s_size() > 0 || list.ByteSizeLong() == 0;
    case AttrKind::types:
      return list.type_size() > 0 || list.ByteSizeLong() == 0;
    case AttrKind::shapes:
      return list.shape_size() > 0 || list.ByteSizeLong() == 0;
  }
  return false;
}

// Nothing for a shape of unknown rank, and for functions.
std::optional<AttrValue> value_from_message(std::string_view what, AttrKind kind,
                                            const Message& value) {
  switch (kind) {
    case AttrKind::boolean:
      return value.b();
    case AttrKind::integer:
      return int64_t{value.i()};
    case AttrKind::floating:
      return double{value.f()};
    case AttrKind::string:
      return value.s();
    case AttrKind::type:
      return dtype_from_message(value.type());
    case AttrKind::shape: {
      const auto shape = shape_from_message(what, value.shape());
      return shape ? std::optional<AttrValue>(*shape) : std::nullopt;
    }
    case AttrKind::tensor:
      return tensor_from_message(what, value.tensor());
    case AttrKind::integers:
      return Ints(value.list().i().begin(), value.list().i().end());
    case AttrKind::strings:
      return Texts(value.list().s().begin(), value.list().s().end());
    case AttrKind::types:
      return type_names(value.list());
    case AttrKind::shapes:
      return shape_texts(what, value.list());
    case AttrKind::function:
      break;
  }
  return std::nullopt;
}

bool is_fixed_value(const AttrValue& wanted, const AttrValue& got) {
  return std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, FunctionRef>) {
          return false;
        } else {
          return std::holds_alternative<T>(got) && std::get<T>(got) == value;
        }
      },
      static_cast<const AttrValue::variant&>(wanted));
}

}  // namespace

AttrMap attrs_from_message(std::string_view what, const OpSignature& signature,
                           const tensorflow::NodeDef& node) {
  AttrMap attrs;
  for (const SignatureAttr& declared : signature.attrs) {
    const auto given = node.attr().find(declared.name);
    if (given == node.attr().end()) {
      if (declared.fallback && !declared.fixed) attrs.emplace(declared.name, *declared.fallback);
      continue;
    }
    const Message& value = given->second;
    const std::string name = fmt::format("{}: attribute '{}'", what, declared.name);
    const bool lists = is_list_kind(declared.kind) == value.has_list();
    if (!lists || !has_kind(value, declared.kind)) {
      throw invalid_argument("{}, got another kind, expected {}", name, to_string(declared.kind));
    }
    std::optional<AttrValue> read = value_from_message(name, declared.kind, value);
    if (!read) continue;
    if (!declared.fixed) {
      attrs.emplace(declared.name, *std::move(read));
    } else if (!is_fixed_value(*declared.fallback, *read)) {
      throw unimplemented("{}, got {}, expected the default", name, value.ShortDebugString());
    }
  }
  return attrs;
}

void check_required_attrs(std::string_view what, const OpSignature& signature,
                          const AttrMap& attrs) {
  const auto implied = [&](const std::string& name) {
    const auto names = [&](const SignatureArg& arg) {
      return arg.type_attr == name || arg.count_attr == name;
    };
    return std::ranges::any_of(signature.inputs, names) ||
           std::ranges::any_of(signature.outputs, names);
  };
  for (const SignatureAttr& declared : signature.attrs) {
    const bool optional = declared.fallback || implied(declared.name) ||
                          declared.kind == AttrKind::types || declared.kind == AttrKind::function;
    if (optional || attrs.contains(declared.name)) continue;
    throw invalid_argument("{}: attribute '{}', got none, expected {}", what, declared.name,
                           to_string(declared.kind));
  }
}

void attr_to_message(const AttrValue& value, tensorflow::AttrValue& message) {
  struct Writer {
    tensorflow::AttrValue& to;
    void operator()(bool v) const { to.set_b(v); }
    void operator()(int64_t v) const { to.set_i(v); }
    void operator()(double v) const { to.set_f(static_cast<float>(v)); }
    void operator()(const std::string& v) const { to.set_s(v); }
    void operator()(DType v) const {
      to.set_type(static_cast<tensorflow::DataType>(dtype_to_message(v)));
    }
    void operator()(const Shape& v) const { shape_to_message(v, *to.mutable_shape()); }
    void operator()(const Tensor& v) const { tensor_to_message(v, *to.mutable_tensor()); }
    void operator()(const Ints& v) const {
      to.mutable_list()->mutable_i()->Add(v.begin(), v.end());
    }
    void operator()(const std::vector<std::string>& v) const {
      for (const std::string& text : v) to.mutable_list()->add_s(text);
      to.mutable_list();
    }
    void operator()(const FunctionRef&) const {}
  };
  std::visit(Writer{message}, value);
}

void attr_to_message(const AttrValue& value, const SignatureAttr* declared,
                     tensorflow::AttrValue& message) {
  const auto* names = std::get_if<Texts>(&value);
  if (names == nullptr || declared == nullptr) return attr_to_message(value, message);
  auto& list = *message.mutable_list();
  for (const std::string& name : *names) {
    if (declared->kind == AttrKind::types) {
      list.add_type(static_cast<tensorflow::DataType>(dtype_to_message(dtype_from_tf(name))));
    } else if (declared->kind == AttrKind::shapes) {
      shape_to_message(parse_shape(name), *list.add_shape());
    } else {
      list.add_s(name);
    }
  }
}

}  // namespace systole
