// The registration of an op as TensorFlow writes it: names and types of inputs, outputs and
// attributes.
//
//   inputs, outputs   "x: T"              one tensor, whose dtype is the attribute T
//                     "x: int32"          one tensor of that dtype (TensorFlow's name)
//                     "values: N * T"     N tensors of one dtype; "indices: N * int64"
//                     "data: U"           with "U: list(type)": tensors of several dtypes
//   attributes        "axis: int"         kinds: bool int float string type shape tensor func
//                     "ksize: list(int)"  lists of: int string type shape
//                     "axis: int = -1"    with a default; strings are in single quotes
//                     "mode: string == 'a'"  the only value that is supported
// Type attributes and counts that inputs and outputs name are attributes of kind type and int
// without being listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/op_def.h"

namespace systole {

enum class AttrKind : uint8_t {
  boolean,
  integer,
  floating,
  string,
  type,
  shape,
  tensor,
  function,
  integers,
  strings,
  types,
  shapes,
};
// "list(int)"
std::string_view to_string(AttrKind kind);

struct SignatureArg {
  std::string name;
  DType dtype = DType::invalid;  // when no attribute tells it
  std::string type_attr;         // "" when `dtype` tells it
  std::string count_attr;        // "" unless a list of one dtype
  bool several_types = false;    // `type_attr` is a list

  bool is_list() const { return several_types || !count_attr.empty(); }
};

struct SignatureAttr {
  std::string name;
  AttrKind kind = AttrKind::type;
  std::optional<AttrValue> fallback;  // the default
  bool fixed = false;  // `fallback` is the only value supported; nodes do not have it
};

struct OpSignature {
  std::vector<SignatureArg> inputs;
  std::vector<SignatureArg> outputs;
  std::vector<SignatureAttr> attrs;

  // Null when there is no such attribute.
  const SignatureAttr* find(std::string_view attr) const;
  // The least number of inputs, and whether there may be more. A list of N has one or more.
  int min_inputs() const;
  bool takes_more() const;
};

// Errors: INTERNAL for a text that does not parse.
OpSignature parse_signature(std::string_view inputs, std::string_view outputs,
                            std::string_view attrs);
// Returns the op's signature, which is parsed once. Thread-safe.
const OpSignature& signature_of(const OpDef& op);

// Reads "[?,28]", as Shape::to_string writes it. Errors: INVALID_ARGUMENT.
Shape parse_shape(std::string_view text);

// The tensors of an argument among the inputs or outputs of a node.
struct ArgRange {
  const SignatureArg* arg = nullptr;
  size_t begin = 0;
  size_t count = 0;
};
// Divides `tensors` inputs or outputs among arguments: a list has as many as its attribute says or,
// where the node does not have the attribute, all that the others leave.
std::vector<ArgRange> divide_among(const std::vector<SignatureArg>& args, const AttrMap& attrs,
                                   size_t tensors);

// The name of output `index` in a function, "product:0".
std::string name_in_function(const Node& node, int index);

// Attributes that the types of the inputs and outputs tell and that `node` lacks: T, N, Tout.
AttrMap implied_attrs(const Node& node);

}  // namespace systole
