#include "systole/session/graph_def/imported_ops.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/lowering/constant_value.h"
#include "systole/graph/op_def.h"

namespace systole {
namespace {

using Variables = std::map<std::string, Variable>;
using Import = std::vector<Output> (*)(const ImportedNode& node, Variables& variables);

template <class T>
const T& attr(const ImportedNode& node, std::string_view name) {
  const auto it = node.attrs.find(name);
  if (it == node.attrs.end() || !std::holds_alternative<T>(it->second)) {
    throw invalid_argument("{}: attribute '{}', got none or one of another kind, expected one",
                           node.what, name);
  }
  return std::get<T>(it->second);
}

const Output& input(const ImportedNode& node, size_t index) {
  if (index < node.inputs.size()) return node.inputs[index];
  throw invalid_argument("{}: inputs of {}, got {}, expected more than {}", node.what, node.op,
                         node.inputs.size(), index);
}

// A node of an op of ours in place of TensorFlow's, with the same inputs and attributes.
std::vector<Output> add_as(std::string_view op, const ImportedNode& node) {
  return Graph::current().add_node(op, node.inputs, node.attrs, {}, node.name)->outputs();
}

std::vector<Output> add_binary(std::string_view op, const ImportedNode& node) {
  input(node, 1);
  return add_as(op, node);
}

std::vector<Output> import_identity(const ImportedNode& node, Variables&) {
  return {identity(input(node, 0), {.name = node.name})};
}

// The initial value is never used: variables of imported graphs are restored.
const Variable& add_variable(const ImportedNode& node, Variables& variables) {
  const auto& shape = attr<Shape>(node, "shape");
  const DType dtype = attr<DType>(node, "dtype");
  if (!shape.is_static()) {
    throw unimplemented("{}: shape of a variable, got {}, expected known sizes", node.what, shape);
  }
  return variables
      .emplace(node.name, Variable(zeros(shape, dtype), {.name = node.name, .trainable = false}))
      .first->second;
}

std::vector<Output> import_placeholder(const ImportedNode& node, Variables&) {
  throw invalid_argument("{}: placeholder, got no value, expected it among the inputs", node.what);
}

std::vector<Output> import_pad(const ImportedNode& node, Variables&) {
  const Output& x = input(node, 0);
  const Output zero = constant(Tensor::zeros(x.dtype(), {}));
  return Graph::current()
      .add_node("PadV2", {x, input(node, 1), zero}, {{"T", x.dtype()}}, {}, node.name)
      ->outputs();
}

std::vector<Output> import_check_numerics(const ImportedNode& node, Variables&) {
  input(node, 0);
  attr<std::string>(node, "message");
  return add_as("CheckNumerics", node);
}

// Without axes, all of size 1.
std::vector<Output> import_squeeze(const ImportedNode& node, Variables&) {
  const auto given = node.attrs.find("squeeze_dims");
  const auto* axes =
      given == node.attrs.end() ? nullptr : std::get_if<std::vector<int64_t>>(&given->second);
  SqueezeOptions options{.name = node.name};
  if (axes != nullptr && !axes->empty()) options.axis = *axes;
  return {squeeze(input(node, 0), options)};
}

std::vector<Output> import_gather(const ImportedNode& node, Variables&) {
  return {gather(input(node, 0), input(node, 1), {.name = node.name})};
}

std::vector<Output> import_div(const ImportedNode& node, Variables&) {
  return add_binary(is_integer(input(node, 0).dtype()) ? "TruncateDiv" : "RealDiv", node);
}

// Inference alone: the moving statistics are inputs 3 and 4.
std::vector<Output> import_batch_norm(const ImportedNode& node, Variables&) {
  if (attr<bool>(node, "is_training")) {
    throw unimplemented("{}: is_training, got true, expected a graph for inference", node.what);
  }
  const auto& format = attr<std::string>(node, "data_format");
  const double epsilon = attr<double>(node, "epsilon");
  const Output& x = input(node, 0);
  const auto along_channels = [&](const Output& v) {
    return format == "NCHW" ? reshape(v, {-1, 1, 1}) : v;
  };
  const NameScope scope(node.name);
  const Output factor = input(node, 1) * rsqrt(input(node, 4) + epsilon);
  const Output shift = input(node, 2) - input(node, 3) * factor;
  return {x * along_channels(factor) + along_channels(shift)};
}

const std::vector<std::string>& names_of(const ImportedNode& node, std::string_view attr_name) {
  static const std::vector<std::string> none;
  const auto it = node.attrs.find(attr_name);
  const auto* names =
      it == node.attrs.end() ? nullptr : std::get_if<std::vector<std::string>>(&it->second);
  return names == nullptr ? none : *names;  // an empty list has no kind
}

// Ours: records, then a default for each dense feature; the keys are attributes.
std::vector<Output> import_our_parser(const ImportedNode& node, Variables&) {
  ImportedNode parser = node;
  for (const char* list : {"sparse_keys", "sparse_types", "dense_keys", "Tdense", "dense_shapes"}) {
    parser.attrs[list] = names_of(node, list);
  }
  input(node, 0);
  return add_as(node.op, parser);
}

// TensorFlow's inputs: records, their names, a key for each dense feature, a default for each.
std::vector<Output> import_parse_example(const ImportedNode& node, Variables& variables) {
  if (node.ours && !node.attrs.contains("Nsparse")) return import_our_parser(node, variables);
  const auto& types = names_of(node, "Tdense");
  if (attr<int64_t>(node, "Nsparse") != 0) {
    throw unimplemented("{}: sparse features, got {}, expected none", node.what,
                        attr<int64_t>(node, "Nsparse"));
  }
  std::vector<std::string> keys;
  std::vector<Output> inputs = {input(node, 0)};
  for (size_t i = 0; i < types.size(); ++i) {
    const auto key = constant_value(input(node, 2 + i));
    if (!key) throw unimplemented("{}: keys, got computed ones, expected constants", node.what);
    keys.push_back(key->item<std::string>());
    inputs.push_back(input(node, 2 + types.size() + i));
  }
  AttrMap attrs{{"sparse_keys", std::vector<std::string>{}},
                {"sparse_types", std::vector<std::string>{}},
                {"dense_keys", std::move(keys)},
                {"Tdense", types},
                {"dense_shapes", names_of(node, "dense_shapes")}};
  if (node.ours && node.attrs.contains("_raw_types")) {
    attrs["_raw_types"] = names_of(node, "_raw_types");
  }
  return Graph::current()
      .add_node("ParseExample", std::move(inputs), std::move(attrs), {}, node.name)
      ->outputs();
}

// Without the attribute where the rank is not known: nothing is declared.
std::vector<Output> import_ensure_shape(const ImportedNode& node, Variables& variables) {
  if (!node.attrs.contains("shape")) return import_identity(node, variables);
  return Graph::current()
      .add_node("EnsureShape", {input(node, 0)}, node.attrs, {}, node.name)
      ->outputs();
}

struct Row {
  std::string_view op;
  Import import;
  bool ours = false;  // TensorFlow's op of that name is another one
};

constexpr Row kRows[] = {
    {"Placeholder", import_placeholder},
    {"PlaceholderWithDefault", import_identity},
    {"Squeeze", import_squeeze},
    {"EnsureShape", import_ensure_shape},
    {"StopGradient", import_identity},
    {"PreventGradient", import_identity},
    {"Snapshot", import_identity},
    {"Print", import_identity},
    {"CheckNumerics", import_check_numerics},
    {"IdentityN",
     [](const ImportedNode& n, Variables&) {
       return Graph::current().add_node("IdentityN", n.inputs, {}, {}, n.name)->outputs();
     }},
    {"VariableV2",
     [](const ImportedNode& n, Variables& v) { return std::vector{add_variable(n, v).value()}; }},
    {"Variable",
     [](const ImportedNode& n, Variables& v) { return std::vector{add_variable(n, v).value()}; }},
    {"VarHandleOp",
     [](const ImportedNode& n, Variables& v) { return std::vector{add_variable(n, v).handle()}; }},
    {"ReadVariableOp",
     [](const ImportedNode& n, Variables& v) {
       for (const auto& [name, variable] : v) {
         if (variable.handle() == input(n, 0)) return std::vector{variable.value()};
       }
       throw invalid_argument("{}: variable, got another tensor, expected a handle", n.what);
     }},
    {"AddV2", [](const ImportedNode& n, Variables&) { return add_binary("Add", n); }},
    {"BatchMatMul",
     [](const ImportedNode& n, Variables&) { return add_binary("BatchMatMulV2", n); }},
    {"Div", import_div},
    {"Inv",
     [](const ImportedNode& n, Variables&) {
       input(n, 0);
       return add_as("Reciprocal", n);
     }},
    {"Pad", import_pad},
    {"Gather", import_gather},
    {"ResourceGather",
     [](const ImportedNode& n, Variables& v) {
       for (const auto& [name, variable] : v) {
         if (variable.handle() != input(n, 0)) continue;
         return std::vector{gather(variable.value(), input(n, 1), {.name = n.name})};
       }
       throw invalid_argument("{}: variable, got another tensor, expected a handle", n.what);
     }},
    {"ParseExample", import_parse_example},
    {"ParseSingleExample", import_our_parser, true},
    {"DecodeImage", [](const ImportedNode& n, Variables&) { return input(n, 0), add_as(n.op, n); },
     true},
    {"EncodeJpeg", [](const ImportedNode& n, Variables&) { return input(n, 0), add_as(n.op, n); },
     true},
    {"LookupTableFindV2",
     [](const ImportedNode& n, Variables&) { return input(n, 0), add_as(n.op, n); }, true},
    {"StringSplit", [](const ImportedNode& n, Variables&) { return add_binary(n.op, n); }, true},
    {"FusedBatchNorm", import_batch_norm},
    {"FusedBatchNormV2", import_batch_norm},
    {"FusedBatchNormV3", import_batch_norm},
};

// Ops that are imported as they are, by the least number of their inputs: their inference takes it
// for granted.
struct Arity {
  size_t inputs;
  std::string_view ops;  // separated by spaces
};

constexpr Arity kArities[] = {
    {0, "Const NoOp"},
    {1,
     "Abs AddN AsString AvgPool Cast Ceil Cos DecodeJpeg DecodePng DecodeRaw Einsum Elu EncodePng "
     "Erf Exp Expm1 Floor "
     "Identity IsFinite IsInf IsNan L2Loss LeakyRelu Log Log1p LogSoftmax LogicalNot "
     "MatchingFiles MaxPool Neg OnesLike Pack RandomShuffle RandomStandardNormal RandomUniform "
     "Rank "
     "ReadFile Reciprocal Relu Relu6 Round Rsqrt Selu Shape Sigmoid Sign Sin Size Softmax Softplus "
     "Softsign Sqrt Square StaticRegexFullMatch StaticRegexReplace StringJoin StringLength "
     "StringLower StringStrip StringToHashBucketFast "
     "StringToNumber StringUpper Tan Tanh TruncatedNormal Unpack ZerosLike"},
    {2,
     "Add All Any ArgMax ArgMin BatchMatMulV2 BiasAdd BroadcastTo ConcatV2 Conv2D Cumsum "
     "DecodeCSV DepthwiseConv2dNative Equal ExpandDims Fill FloorDiv FloorMod Greater GreaterEqual "
     "Less LessEqual LogicalAnd LogicalOr MatMul Max Maximum Mean Min Minimum Mul "
     "Multinomial NotEqual Pow Prod RealDiv Reshape ResizeBilinear ResizeNearestNeighbor "
     "ReverseV2 Split SquaredDifference Sub "
     "Sum Tile TopKV2 Transpose TruncateDiv TruncateMod SoftmaxCrossEntropyWithLogits "
     "SparseSoftmaxCrossEntropyWithLogits"},
    {3,
     "Conv2DBackpropInput GatherV2 PadV2 RandomUniformInt Range Select SelectV2 Slice "
     "SplitV Substr"},
    {4, "OneHot StridedSlice"},
};

bool names(std::string_view list, std::string_view op) {
  if (op.empty()) return false;
  const size_t at = list.find(op);
  if (at == std::string_view::npos) return false;
  const auto space = [&](size_t i) { return i >= list.size() || list[i] == ' '; };
  if ((at == 0 || list[at - 1] == ' ') && space(at + op.size())) return true;
  return names(list.substr(at + op.size()), op);
}

const Arity* find_arity(std::string_view op) {
  const auto* it =
      std::ranges::find_if(kArities, [&](const Arity& row) { return names(row.ops, op); });
  return it == std::end(kArities) ? nullptr : it;
}

bool draws_random_numbers(std::string_view op) {
  constexpr std::string_view kOps[] = {"RandomUniform",   "RandomStandardNormal",
                                       "TruncatedNormal", "RandomUniformInt",
                                       "RandomShuffle",   "Multinomial"};
  return std::ranges::find(kOps, op) != std::end(kOps);
}

const Row* find_row(std::string_view op) {
  const auto it = std::ranges::find(kRows, op, &Row::op);
  return it == std::end(kRows) ? nullptr : &*it;
}

}  // namespace

bool can_import(std::string_view op, bool ours) {
  if (const Row* row = find_row(op)) return ours || !row->ours;
  return find_arity(op) != nullptr;
}

std::vector<Output> import_op(const ImportedNode& node, Variables& variables) {
  if (const Row* row = find_row(node.op)) return row->import(node, variables);
  const Arity* arity = find_arity(node.op);
  if (arity == nullptr) throw internal_error("{}: op '{}' cannot be imported", node.what, node.op);
  if (node.inputs.size() < arity->inputs) input(node, arity->inputs - 1);
  if (!draws_random_numbers(node.op)) return add_as(node.op, node);
  ImportedNode random = node;
  if (node.ours && node.attrs.contains("_stream")) return add_as(node.op, random);
  random.attrs["_stream"] = Graph::current().nodes_made();  // what tells random nodes apart
  return add_as(node.op, random);
}

}  // namespace systole
