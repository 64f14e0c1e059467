#include "systole/session/graph_def/graph_def_attrs.h"

#include <algorithm>
#include <array>

#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

using Ints = std::vector<int64_t>;

struct DefaultAttr {
  std::string_view name;
  AttrValue value;
};
struct OpDefaults {
  std::vector<std::string_view> ops;
  std::vector<DefaultAttr> attrs;
};

// What op.cc files of TensorFlow say of the attributes that our ops read.
const std::vector<OpDefaults>& op_defaults() {
  static const std::vector<OpDefaults> table = {
      {{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
       {{"data_format", std::string("NHWC")}, {"dilations", Ints{1, 1, 1, 1}}}},
      {{"DepthwiseConv2dNative"},
       {{"data_format", std::string("NHWC")}, {"dilations", Ints{1, 1, 1, 1}}}},
      {{"MaxPool", "AvgPool", "BiasAdd", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"},
       {{"data_format", std::string("NHWC")}}},
      {{"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"},
       {{"epsilon", 0.0001}, {"is_training", true}}},
      {{"MatMul"}, {{"transpose_a", false}, {"transpose_b", false}}},
      {{"BatchMatMul", "BatchMatMulV2"}, {{"adj_x", false}, {"adj_y", false}}},
      {{"Sum", "Mean", "Max", "Min", "Prod", "All", "Any"}, {{"keep_dims", false}}},
      {{"ArgMax", "ArgMin"}, {{"output_type", DType::s64}}},
      {{"Shape", "Size"}, {{"out_type", DType::s32}}},
      {{"Squeeze"}, {{"squeeze_dims", Ints{}}}},
      {{"OneHot"}, {{"axis", int64_t{-1}}}},
      {{"Pack", "Unpack"}, {{"axis", int64_t{0}}}},
      {{"StridedSlice"},
       {{"begin_mask", int64_t{0}},
        {"end_mask", int64_t{0}},
        {"ellipsis_mask", int64_t{0}},
        {"new_axis_mask", int64_t{0}},
        {"shrink_axis_mask", int64_t{0}}}},
      {{"Cumsum"}, {{"exclusive", false}, {"reverse", false}}},
      {{"TopKV2"}, {{"sorted", true}}},
      {{"LeakyRelu"}, {{"alpha", 0.2}}},
      {{"Cast"}, {{"Truncate", false}}},
      {{"RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt",
        "RandomShuffle", "Multinomial"},
       {{"seed", int64_t{0}}, {"seed2", int64_t{0}}}},
      {{"Multinomial"}, {{"output_dtype", DType::s64}}},
      {{"ReadVariableOp"}, {{"_snapshot", true}}},
      {{"DecodeCSV"},
       {{"field_delim", std::string(",")},
        {"use_quote_delim", true},
        {"na_value", std::string()},
        {"select_cols", Ints{}}}},
      {{"DecodeJpeg"},
       {{"channels", int64_t{0}},
        {"ratio", int64_t{1}},
        {"fancy_upscaling", true},
        {"try_recover_truncated", false},
        {"dct_method", std::string()}}},
      {{"DecodePng"}, {{"channels", int64_t{0}}, {"dtype", DType::u8}}},
      {{"EncodePng"}, {{"compression", int64_t{-1}}}},
      {{"ResizeBilinear", "ResizeNearestNeighbor"},
       {{"align_corners", false}, {"half_pixel_centers", false}}},
      {{"StaticRegexReplace"}, {{"replace_global", true}}},
  };
  return table;
}

// Lists of types and shapes are their names, as ops that parse records have them.
void list_from_message(std::string_view what, const std::string& name,
                       const tensorflow::AttrValue::ListValue& list, AttrMap& attrs) {
  if (list.s_size() > 0) {
    attrs[name] = std::vector<std::string>(list.s().begin(), list.s().end());
  } else if (list.type_size() > 0) {
    std::vector<std::string> names;
    for (const int type : list.type()) {
      names.emplace_back(dtype_info(dtype_from_message(type)).tf_name);
    }
    attrs[name] = std::move(names);
  } else if (list.shape_size() > 0) {
    std::vector<std::string> shapes;
    for (const auto& shape : list.shape()) {
      shapes.push_back(shape_from_message(what, shape).value_or(Shape({kUnknown})).to_string());
    }
    attrs[name] = std::move(shapes);
  } else if (list.i_size() > 0 || list.ByteSizeLong() == 0) {
    attrs[name] = Ints(list.i().begin(), list.i().end());
  }
}

void value_from_message(std::string_view what, const std::string& name,
                        const tensorflow::AttrValue& value, AttrMap& attrs) {
  switch (value.value_case()) {
    case tensorflow::AttrValue::kList:
      return list_from_message(what, name, value.list(), attrs);
    case tensorflow::AttrValue::kS:
      attrs[name] = value.s();
      return;
    case tensorflow::AttrValue::kI:
      attrs[name] = int64_t{value.i()};
      return;
    case tensorflow::AttrValue::kF:
      attrs[name] = double{value.f()};
      return;
    case tensorflow::AttrValue::kB:
      attrs[name] = value.b();
      return;
    case tensorflow::AttrValue::kType:
      attrs[name] = dtype_from_message(value.type());
      return;
    case tensorflow::AttrValue::kShape:
      if (const auto shape = shape_from_message(what, value.shape())) attrs[name] = *shape;
      return;
    case tensorflow::AttrValue::kTensor:
      attrs[name] = tensor_from_message(what, value.tensor());
      return;
    default:
      return;
  }
}

}  // namespace

AttrMap attrs_from_message(std::string_view what, const tensorflow::NodeDef& node) {
  AttrMap attrs;
  for (const OpDefaults& row : op_defaults()) {
    if (std::ranges::find(row.ops, node.op()) == row.ops.end()) continue;
    for (const DefaultAttr& attr : row.attrs) attrs[std::string(attr.name)] = attr.value;
  }
  for (const auto& [name, value] : node.attr()) {
    // Written by TensorFlow's own passes; of ours only what we wrote ourselves.
    static constexpr std::array<std::string_view, 3> kOurs = {"_snapshot", "_stream", "_raw_types"};
    if (name.starts_with('_') && std::ranges::find(kOurs, name) == kOurs.end()) continue;
    value_from_message(fmt::format("{}: attribute '{}'", what, name), name, value, attrs);
  }
  return attrs;
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

void add_required_attrs(const Node& node, tensorflow::NodeDef& message) {
  // Ops whose inputs have one dtype that no attribute tells, or whose attributes have other names.
  static constexpr std::array<std::string_view, 14> kWithoutT = {"LogicalAnd",
                                                                 "LogicalOr",
                                                                 "LogicalNot",
                                                                 "Cast",
                                                                 "GatherV2",
                                                                 "ReadVariableOp",
                                                                 "AssignVariableOp",
                                                                 "AssignAddVariableOp",
                                                                 "AssignSubVariableOp",
                                                                 "If",
                                                                 "While",
                                                                 "IdentityN",
                                                                 "Assert",
                                                                 "Range"};
  if (node.num_inputs() == 0) return;
  const std::string_view op = node.op_name();
  const DType dtype = node.input(0).dtype();
  const bool resource = dtype == DType::resource;
  if (!node.attrs().contains("T") && !resource &&
      std::ranges::find(kWithoutT, op) == kWithoutT.end()) {
    attr_to_message(dtype, (*message.mutable_attr())["T"]);
  }
  if (op.starts_with("ResourceApply") && !node.attrs().contains("T")) {
    attr_to_message(node.input(node.num_inputs() - 1).dtype(), (*message.mutable_attr())["T"]);
  }
  if (op == "AddN" && !node.attrs().contains("N")) {
    attr_to_message(int64_t{node.num_inputs()}, (*message.mutable_attr())["N"]);
  }
  if (op == "GatherV2" && !node.attrs().contains("Taxis")) {
    attr_to_message(node.input(2).dtype(), (*message.mutable_attr())["Taxis"]);
  }
}

}  // namespace systole
