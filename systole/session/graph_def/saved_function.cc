// Functions on the host as bytes: a GraphDef, and two nodes more that tell the arguments and the
// results.
//   node      := "_Arguments" | "_Results", with the lists "structure", "tensors" (names), "types"
//                and "shapes", one entry a leaf
//   structure := "*" | "(" count structure.. | "{" count (name structure)..
#include <algorithm>
#include <charconv>
#include <limits>

#include "systole/io/proto/graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/io/wire/tensor_message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/session/graph_def/importable_ops.h"
#include "systole/session/host/host_function.h"

namespace systole {
namespace {

constexpr std::string_view kArguments = "_Arguments";
constexpr std::string_view kResults = "_Results";
constexpr std::string_view kEntropy = "entropy";
constexpr int kDeepest = 100;

Error no_function(std::string_view got, std::string_view expected) {
  return make_error(Code::data_loss, "saved function: got {}, expected {}", got, expected);
}

void write_structure(const Nest<TensorType>& spec, tensorflow::AttrValue::ListValue& to) {
  if (spec.is_leaf()) return to.add_s("*");
  to.add_s(fmt::format("{}{}", spec.is_dict() ? '{' : '(', spec.size()));
  for (size_t i = 0; i < spec.size(); ++i) {
    if (spec.is_dict()) to.add_s(spec.names()[i]);
    write_structure(spec[i], to);
  }
}

void write_ends(std::string_view op, const Nest<TensorType>& spec, std::span<const Output> outputs,
                tensorflow::NodeDef& to) {
  to.set_name(std::string(op));
  to.set_op(std::string(op));
  auto& attrs = *to.mutable_attr();
  write_structure(spec, *attrs["structure"].mutable_list());
  auto& tensors = *attrs["tensors"].mutable_list();
  for (const Output& output : outputs) tensors.add_s(output.name());
  auto& types = *attrs["types"].mutable_list();
  auto& shapes = *attrs["shapes"].mutable_list();
  for (const TensorType& type : spec.flatten()) {
    types.add_type(static_cast<tensorflow::DataType>(dtype_to_message(type.dtype)));
    shape_to_message(type.shape, *shapes.add_shape());
  }
}

struct FunctionEnds {
  Nest<TensorType> spec;
  std::vector<std::string> tensors;
};

class EndsReader {
 public:
  EndsReader(const tensorflow::GraphDef& message, std::string_view op) {
    for (const auto& node : message.node()) {
      if (node.op() == op) node_ = &node;
    }
    if (node_ == nullptr) throw no_function(fmt::format("no node '{}'", op), "one");
  }

  FunctionEnds read() {
    for (int i = 0; i < list("types").type_size(); ++i) {
      if (i >= list("shapes").shape_size()) throw no_function("a type without a shape", "both");
      const auto shape = shape_from_message("saved function", list("shapes").shape(i));
      if (!shape) throw no_function("a shape of unknown rank", "a rank");
      const DType dtype = dtype_from_message(list("types").type(i));
      if (!is_numeric(dtype) && dtype != DType::string) {
        throw no_function(fmt::format("values of {}", data_type_name(list("types").type(i))),
                          "numbers or strings");
      }
      types_.push_back({dtype, *shape});
    }
    FunctionEnds ends{.spec = nest(0),
                      .tensors = {list("tensors").s().begin(), list("tensors").s().end()}};
    if (next_type_ != types_.size() || ends.tensors.size() != types_.size()) {
      throw no_function(fmt::format("{} types and {} tensors", types_.size(), ends.tensors.size()),
                        fmt::format("{} of each", next_type_));
    }
    return ends;
  }

 private:
  const tensorflow::AttrValue::ListValue& list(const std::string& name) const {
    static const tensorflow::AttrValue::ListValue none;
    const auto it = node_->attr().find(name);
    return it == node_->attr().end() ? none : it->second.list();
  }
  const std::string& token() {
    if (next_token_ == list("structure").s_size()) throw no_function("a cut structure", "a whole");
    return list("structure").s(next_token_++);
  }
  Nest<TensorType> nest(int depth) {
    if (depth > kDeepest) throw no_function("a deeper structure", fmt::format("{}", kDeepest));
    const std::string& text = token();
    if (text == "*") {
      if (next_type_ == types_.size()) throw no_function("a leaf without a type", "one");
      return types_[next_type_++];
    }
    int count = 0;
    const char* const end = text.data() + text.size();
    const bool known = text.starts_with('(') || text.starts_with('{');
    if (!known || std::from_chars(text.data() + 1, end, count).ptr != end || count < 0 ||
        count > list("structure").s_size()) {
      throw no_function(fmt::format("structure '{}'", text), "*, (n or {n");
    }
    std::vector<Nest<TensorType>::Entry> entries;
    std::vector<Nest<TensorType>> elements;
    for (int i = 0; i < count; ++i) {
      if (text[0] == '(') {
        elements.push_back(nest(depth + 1));
      } else {
        std::string name = token();
        entries.emplace_back(std::move(name), nest(depth + 1));
      }
    }
    return text[0] == '(' ? Nest<TensorType>::tuple(std::move(elements))
                          : Nest<TensorType>::dict(std::move(entries));
  }

  const tensorflow::NodeDef* node_ = nullptr;
  std::vector<TensorType> types_;
  size_t next_type_ = 0;
  int next_token_ = 0;
};

}  // namespace

std::string HostFunction::save() const {
  if (!captures().empty()) {
    throw unimplemented(
        "HostFunction: tensor '{}' of the graph around it, got one that is fed, expected constants",
        captures().front().name());
  }
  std::vector<Operation> wanted;
  for (const Output& result : results()) wanted.emplace_back(result);
  const auto message = to_graph_def(graph(), wanted);
  for (const auto& node : message->node()) {
    const OpDef* op = op_for_import(node);
    const bool calls =
        std::ranges::any_of(node.attr(), [](const auto& attr) { return attr.second.has_func(); });
    if (op != nullptr && op->not_in_files.empty() && !calls) continue;
    throw unimplemented(
        "HostFunction: op {} of node '{}', got one that cannot be read again, "
        "expected ops without C++ functions, loops and branches",
        node.op(), node.name());
  }
  write_ends(kArguments, argument_spec(), arguments(), *message->add_node());
  tensorflow::NodeDef& last = *message->add_node();
  write_ends(kResults, result_spec(), results(), last);
  (*last.mutable_attr())[std::string(kEntropy)].set_i(static_cast<int64_t>(entropy()));
  if (message->ByteSizeLong() > size_t{std::numeric_limits<int>::max()}) {
    throw make_error(Code::resource_exhausted,
                     "HostFunction: save, got {} bytes, expected below 2^31",
                     message->ByteSizeLong());
  }
  return serialize_message(*message);
}

HostFunction HostFunction::load(std::string_view bytes) {
  tensorflow::GraphDef message;
  parse_message("saved function", bytes, message);
  const FunctionEnds arguments = EndsReader(message, kArguments).read();
  const FunctionEnds results = EndsReader(message, kResults).read();
  uint64_t entropy = 0;
  for (const auto& node : message.node()) {
    const auto it = node.attr().find(std::string(kEntropy));
    if (node.op() == kResults && it != node.attr().end()) {
      entropy = static_cast<uint64_t>(it->second.i());
    }
  }
  return trace(arguments.spec,
               [&](const Nest<Output>& x) {
                 ImportOptions options{.outputs = results.tensors, .what = "saved function"};
                 const std::vector<Output> given = x.flatten();
                 for (size_t i = 0; i < given.size(); ++i)
                   options.inputs[arguments.tensors[i]] = given[i];
                 return pack_like(results.spec, import_graph_def(message, options).outputs);
               },
               {.entropy = entropy});
}

}  // namespace systole
