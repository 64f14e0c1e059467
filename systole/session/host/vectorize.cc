#include "systole/session/host/vectorize.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/lowering/constant_value.h"
#include "systole/graph/lowering/random_state.h"
#include "systole/graph/ops/array/array_common.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/parsing/example_schema.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

// A value in the batched graph: with a first dimension for the batch, or the same for all rows.
struct Mapped {
  Output value;
  bool batched = false;
};
using Results = std::optional<std::vector<Output>>;

// One node to rebuild. `inputs` are at least one of them batched.
struct Site {
  Node& node;
  std::vector<Mapped> inputs;
  AttrMap attrs = {};  // of a parser, in place of the node's

  Shape element_shape(size_t i) const { return node.input(static_cast<int>(i)).shape(); }
  bool only_first_batched() const {
    return inputs[0].batched &&
           std::none_of(inputs.begin() + 1, inputs.end(), [](const auto& m) { return m.batched; });
  }
  bool all_batched() const {
    return std::ranges::all_of(inputs, [](const auto& m) { return m.batched; });
  }
  std::vector<Output> values() const {
    std::vector<Output> result;
    for (const Mapped& input : inputs) result.push_back(input.value);
    return result;
  }
};

std::vector<Output> rebuild(const Site& site, std::vector<Output> inputs, AttrMap attrs,
                            std::string_view op = {}) {
  const Node& node = site.node;
  return Graph::current()
      .add_node(op.empty() ? node.op_name() : op, std::move(inputs), std::move(attrs), node.where(),
                node.name())
      ->outputs();
}

std::vector<Output> rebuild(const Site& site) {
  return rebuild(site, site.values(), site.node.attrs());
}

// -- Rules. Each gives the batched results of a node, or nullopt.

// [B, dims..] -> [B, 1.., dims..] with `more` ones, so that dims stay aligned with other inputs.
std::optional<Output> with_ones(Output value, const Shape& element, int more) {
  if (more == 0) return value;
  if (!element.is_static() || element.num_elements() == 0) return std::nullopt;
  std::vector<int64_t> sizes{-1};
  sizes.insert(sizes.end(), static_cast<size_t>(more), 1);
  sizes.insert(sizes.end(), element.begin(), element.end());
  return reshape(value, sizes);
}

// Ops that broadcast their inputs.
Results elementwise(const Site& site) {
  int rank = 0;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    rank = std::max(rank, site.element_shape(i).rank());
  }
  std::vector<Output> inputs;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const Shape element = site.element_shape(i);
    const Mapped& input = site.inputs[i];
    const auto value = input.batched ? with_ones(input.value, element, rank - element.rank())
                                     : std::optional(input.value);
    if (!value) return std::nullopt;
    inputs.push_back(*value);
  }
  return rebuild(site, std::move(inputs), site.node.attrs());
}

// Ops of strings, whose inputs have one shape, or are scalars for all.
Results same_shape(const Site& site) {
  const auto batched = std::ranges::find_if(site.inputs, &Mapped::batched);
  const int rank = site.element_shape(static_cast<size_t>(batched - site.inputs.begin())).rank();
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (site.element_shape(i).rank() != (site.inputs[i].batched ? rank : 0)) return std::nullopt;
  }
  return rebuild(site);
}

Results first_alone(const Site& site) {
  if (!site.only_first_batched()) return std::nullopt;
  return rebuild(site);
}

Results all_inputs(const Site& site) {
  if (!site.all_batched()) return std::nullopt;
  return rebuild(site);
}

Results reshape_rows(const Site& site) {
  const Shape& element = site.node.output_types()[0].shape;
  if (!site.only_first_batched() || !element.is_static() || element.num_elements() == 0) {
    return std::nullopt;
  }
  std::vector<int64_t> sizes{-1};
  sizes.insert(sizes.end(), element.begin(), element.end());
  return std::vector{reshape(site.inputs[0].value, sizes, {.name = site.node.name()})};
}

Results ensure_rows(const Site& site) {
  const Shape& element = site.node.attr<Shape>("shape");
  Dims sizes{kUnknown};
  sizes.insert(sizes.end(), element.begin(), element.end());
  AttrMap attrs = site.node.attrs();
  attrs["shape"] = Shape(std::move(sizes));
  return rebuild(site, site.values(), std::move(attrs));
}

// The constant integers of an input; nullopt when they are not known.
std::optional<std::vector<int64_t>> ints_of(const Site& site, int input) {
  const auto value = constant_value(site.node.input(input));
  if (!value) return std::nullopt;
  std::vector<int64_t> ints;
  for (int64_t i = 0; i < value->num_elements(); ++i) {
    ints.push_back(static_cast<int64_t>(value->as_double(i)));
  }
  return ints;
}

// Axes of an element as axes of the batch.
std::vector<int64_t> behind_batch(std::vector<int64_t> axes) {
  for (int64_t& axis : axes) axis += axis >= 0 ? 1 : 0;
  return axes;
}

Results expand_rows(const Site& site) {
  const auto axis = ints_of(site, 1);
  if (!axis || !site.inputs[0].batched) return std::nullopt;
  return std::vector{expand_dims(site.inputs[0].value, behind_batch(*axis)[0])};
}

Results squeeze_rows(const Site& site) {
  const auto& given = site.node.attr<std::vector<int64_t>>("squeeze_dims");
  std::vector<int64_t> axes;
  const Shape element = site.element_shape(0);
  for (int i = 0; i < element.rank() && given.empty(); ++i) {
    if (element[i] == 1) axes.push_back(i);
  }
  if (!given.empty()) axes = given;
  if (axes.empty()) return std::vector{site.inputs[0].value};
  AttrMap attrs = site.node.attrs();
  attrs["squeeze_dims"] = behind_batch(axes);
  return rebuild(site, site.values(), std::move(attrs));
}

Results transpose_rows(const Site& site) {
  const auto perm = ints_of(site, 1);
  if (!perm || !site.inputs[0].batched) return std::nullopt;
  std::vector<int64_t> batched{0};
  for (const int64_t axis : *perm) batched.push_back(axis + 1);
  return std::vector{transpose(site.inputs[0].value, {.perm = batched})};
}

// Reductions and argmax: the second input is axes.
Results axes_input(const Site& site) {
  const auto axes = ints_of(site, 1);
  if (!axes || !site.inputs[0].batched) return std::nullopt;
  const Tensor given = *constant_value(site.node.input(1));
  Tensor moved(DType::s64, given.shape());
  std::ranges::copy(behind_batch(*axes), moved.data<int64_t>().begin());
  const Output input = constant(moved.cast(given.dtype()), {.name = "axes"});
  return rebuild(site, {site.inputs[0].value, input}, site.node.attrs());
}

Results stack_rows(const Site& site) {
  if (!site.all_batched()) return std::nullopt;
  AttrMap attrs = site.node.attrs();
  attrs["axis"] = behind_batch({site.node.attr<int64_t>("axis")})[0];
  return rebuild(site, site.values(), std::move(attrs));
}

Results concat_rows(const Site& site) {
  const int last = site.node.num_inputs() - 1;
  const auto axis = ints_of(site, last);
  std::vector<Output> parts;
  for (size_t i = 0; i + 1 < site.inputs.size(); ++i) {
    if (!site.inputs[i].batched) return std::nullopt;
    parts.push_back(site.inputs[i].value);
  }
  if (!axis) return std::nullopt;
  return std::vector{concat(parts, behind_batch(*axis)[0], {.name = site.node.name()})};
}

// x[a:b] of each row: the batch is a whole axis before the others.
Results strided_slice_rows(const Site& site) {
  if (!site.only_first_batched()) return std::nullopt;
  std::vector<Output> inputs{site.inputs[0].value};
  for (int i = 1; i <= 3; ++i) {
    auto ints = ints_of(site, i);
    if (!ints) return std::nullopt;
    ints->insert(ints->begin(), i == 3 ? 1 : 0);
    Tensor values = Tensor::of<int64_t>({static_cast<int64_t>(ints->size())}, *ints);
    inputs.push_back(constant(values.cast(site.node.input(i).dtype())));
  }
  AttrMap attrs = site.node.attrs();
  for (const char* mask :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    const std::string_view name = mask;
    const int64_t whole = name == "begin_mask" || name == "end_mask" ? 1 : 0;
    attrs[mask] = site.node.attr<int64_t>(mask) * 2 + whole;
  }
  return rebuild(site, std::move(inputs), std::move(attrs));
}

Results one_hot_rows(const Site& site) {
  if (!site.only_first_batched()) return std::nullopt;
  AttrMap attrs = site.node.attrs();
  attrs["axis"] = behind_batch({site.node.attr<int64_t>("axis")})[0];
  return rebuild(site, site.values(), std::move(attrs));
}

// Features of one length in every record: the batched parser gives the same rows.
Results parse_rows(const Site& site) {
  const auto& shapes = site.node.attr<std::vector<std::string>>("dense_shapes");
  const bool ragged = !site.node.attr<std::vector<std::string>>("sparse_keys").empty() ||
                      std::ranges::any_of(shapes, [](const std::string& s) { return s[1] == '?'; });
  if (ragged || !site.only_first_batched()) return std::nullopt;
  return rebuild(site, site.values(), site.attrs, "ParseExample");
}

// Rows of a table that is the same for all.
Results gather_rows(const Site& site) {
  const auto axis = ints_of(site, 2);
  const bool first = axis && ((*axis)[0] == 0 || site.node.input(0).shape().rank() == 1);
  if (!first || site.inputs[0].batched || !site.inputs[1].batched) return std::nullopt;
  return rebuild(site);
}

struct Rule {
  std::string_view op;
  Results (*apply)(const Site&);
};
constexpr Rule kVectorizeRules[] = {
    {"All", axes_input},
    {"Any", axes_input},
    {"ArgMax", axes_input},
    {"ArgMin", axes_input},
    {"AsString", same_shape},
    {"Cast", first_alone},
    {"ConcatV2", concat_rows},
    {"DecodeCSV", first_alone},
    {"DecodeRaw", first_alone},
    {"EnsureShape", ensure_rows},
    {"Equal", elementwise},
    {"ExpandDims", expand_rows},
    {"GatherV2", gather_rows},
    {"Identity", first_alone},
    {"LookupTableFindV2", first_alone},
    {"Max", axes_input},
    {"Mean", axes_input},
    {"Min", axes_input},
    {"NotEqual", elementwise},
    {"OneHot", one_hot_rows},
    {"OnesLike", first_alone},
    {"Pack", stack_rows},
    {"ParseSingleExample", parse_rows},
    {"Prod", axes_input},
    {"Reshape", reshape_rows},
    {"Select", all_inputs},
    {"SelectV2", elementwise},
    {"Squeeze", squeeze_rows},
    {"StopGradient", first_alone},
    {"StridedSlice", strided_slice_rows},
    {"StringJoin", same_shape},
    {"StringToNumber", same_shape},
    {"Substr", same_shape},
    {"Sum", axes_input},
    {"Transpose", transpose_rows},
    {"ZerosLike", first_alone},
};

using Infer = std::vector<TensorType> (*)(const InferContext&);

// What an op's inference says: that its elements do not see each other.
Results (*rule_of(const Node& node))(const Site&) {
  const auto rule = std::ranges::find(kVectorizeRules, node.op_name(), &Rule::op);
  if (rule != std::end(kVectorizeRules)) return rule->apply;
  static constexpr Infer kElementwise[] = {
      infer_unary<DTypeClass::any>,      infer_unary<DTypeClass::boolean>,
      infer_unary<DTypeClass::floating>, infer_unary<DTypeClass::signed_number>,
      infer_unary<DTypeClass::number>,   infer_test<DTypeClass::floating>,
      infer_binary<DTypeClass::boolean>, infer_binary<DTypeClass::floating>,
      infer_binary<DTypeClass::number>,  infer_comparison<DTypeClass::number>,
      infer_string_map<DType::string>,   infer_string_map<DType::s32>,
      infer_string_map<DType::pred>,
  };
  const bool by_element =
      std::ranges::find(kElementwise, node.op().infer) != std::end(kElementwise);
  if (by_element || node.op_name() == "StringLength") return elementwise;
  return nullptr;
}

// Whether rows of `value`, whose size is not known, can stand in one batch wherever the results of
// the function can: the size is that of a result, or is checked on the way to one. Of elements of
// several lengths their sums, say, make a batch, but they themselves do not.
bool has_size_of_result(const Output& value, std::span<Node* const> nodes,
                        std::span<const Output> results) {
  if (std::ranges::find(results, value) != results.end()) return true;
  return std::ranges::any_of(nodes, [&](Node* node) {
    const auto is_scalar = [](const Output& input) { return input.shape().rank() == 0; };
    const auto inputs = node->inputs();
    const std::string_view op = node->op_name();
    if (std::ranges::find(inputs, value) == inputs.end()) return false;
    if (op == "EnsureShape" || op == "Reshape" || op == "Squeeze") {
      return node->output().shape().is_static();
    }
    const bool same_size = op == "Cast" || op == "Identity" || rule_of(*node) == elementwise;
    if (!same_size || std::ranges::count_if(inputs, std::not_fn(is_scalar)) != 1) return false;
    return has_size_of_result(node->output(), nodes, results);
  });
}

class Vectorizer {
 public:
  Vectorizer(std::span<const Output> args, std::span<const Output> results, size_t shared)
      : args_(args), batched_args_(args.size() - shared), results_(results) {}

  std::optional<VectorizedGraph> run() {
    VectorizedGraph result{.graph = std::make_shared<Graph>()};
    const GraphScope scope(*result.graph);
    for (const Output& arg : args_) {
      const bool batched = result.args.size() < batched_args_;
      Dims dims;
      if (batched) dims.push_back(kUnknown);
      dims.insert(dims.end(), arg.shape().begin(), arg.shape().end());
      result.args.push_back(placeholder(arg.dtype(), Shape(std::move(dims)), arg.node()->name()));
      mapped_[arg] = {result.args.back(), batched};
    }
    const std::vector<Node*> nodes = needed();
    if (!sizes_fit(nodes)) return std::nullopt;
    find_raw_features(nodes);
    for (Node* node : nodes) {
      if (!add(*node)) return std::nullopt;
    }
    for (const Output& output : results_) {
      const Mapped& mapped = mapped_.at(output);
      if (!mapped.batched) return std::nullopt;
      result.results.push_back(mapped.value);
    }
    return result;
  }

 private:
  // No batch is asked for that the function on one element after another does not need.
  bool sizes_fit(std::span<Node* const> nodes) const {
    const auto fits = [&](const Output& value) {
      return value.shape().is_static() || has_size_of_result(value, nodes, results_);
    };
    // The length of what is decoded is another in every text, too.
    return std::ranges::all_of(args_.first(batched_args_), fits) &&
           std::ranges::all_of(nodes, [&](Node* node) {
             return node->op_name() != "DecodeRaw" || fits(node->output());
           });
  }

  // A string feature that nothing but one DecodeRaw reads: the parser gives its numbers itself.
  void find_raw_features(const std::vector<Node*>& nodes) {
    std::unordered_map<Output, int> uses;
    for (const Output& result : results_) ++uses[result];
    for (const Node* node : nodes) {
      for (const Output& input : node->inputs()) ++uses[input];
    }
    for (Node* node : nodes) {
      if (node->op_name() != "DecodeRaw" || !node->attr<bool>("little_endian")) continue;
      const Output feature = node->input(0);
      const bool parsed = feature.node()->op_name() == "ParseSingleExample";
      const DType dtype = node->attr<DType>("out_type");
      if (!parsed || dtype == DType::pred || uses[feature] != 1) continue;
      if (feature.shape().rank() == 0) raw_[feature] = dtype;
    }
  }

  AttrMap with_raw_features(Node& parser) const {
    ExampleSchema schema(parser.attrs());
    if (!schema.sparse.empty()) return parser.attrs();
    for (int i = 0; i < parser.num_outputs(); ++i) {
      const auto raw = raw_.find(parser.output(i));
      if (raw != raw_.end()) schema.dense[static_cast<size_t>(i)].raw = raw->second;
    }
    return schema.attrs();
  }

  std::vector<Node*> needed() const {
    std::unordered_set<Node*> seen;
    std::vector<Node*> order;
    const auto need = [&](const Output& output) {
      if (!mapped_.contains(output) && seen.insert(output.node()).second) {
        order.push_back(output.node());
      }
    };
    for (const Output& result : results_) need(result);
    for (size_t next = 0; next < order.size();) {
      for (const Output& input : order[next++]->inputs()) need(input);
    }
    std::ranges::sort(order, {}, &Node::id);
    return order;
  }

  bool add(Node& node) {
    if (node.op_name() == "DecodeRaw" && raw_.contains(node.input(0)) &&
        mapped_.at(node.input(0)).batched) {
      mapped_[node.output()] = mapped_.at(node.input(0));
      return true;
    }
    Site site{node, {}};
    if (node.op_name() == "ParseSingleExample") site.attrs = with_raw_features(node);
    for (const Output& input : node.inputs()) site.inputs.push_back(mapped_.at(input));
    const bool batched = std::ranges::any_of(site.inputs, &Mapped::batched);
    // What a node draws, changes or waits for is not known to be a matter of its row.
    const bool pure = !is_random(node) && !node.op().stateful && node.control_inputs().empty();
    if (!pure || node.op_name() == "Placeholder") return false;
    Results results;
    if (batched) {
      auto* const rule = rule_of(node);
      if (rule == nullptr) return false;
      results = rule(site);
    } else {
      results = rebuild(site);
    }
    if (!results) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      mapped_[node.output(i)] = {(*results)[static_cast<size_t>(i)], batched};
    }
    return true;
  }

  std::span<const Output> args_;
  size_t batched_args_;
  std::span<const Output> results_;
  std::unordered_map<Output, Mapped> mapped_;
  std::unordered_map<Output, DType> raw_;
};

}  // namespace

std::optional<VectorizedGraph> vectorize(std::span<const Output> args,
                                         std::span<const Output> results, size_t shared) {
  try {
    return Vectorizer(args, results, shared).run();
  } catch (const Error&) {
    return std::nullopt;  // an op does not take the batch: rows are computed one by one
  }
}

}  // namespace systole
