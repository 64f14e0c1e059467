#include "systole/train/saver_nodes.h"

#include <string>

#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/wire/tensor_message.h"

namespace systole {
namespace {

class SaverNodes {
 public:
  SaverNodes(const std::vector<Variable>& variables, tensorflow::GraphDef& graph)
      : variables_(variables), graph_(graph) {}

  void add() {
    add_filename();
    add_save();
    add_restore();
  }

 private:
  tensorflow::NodeDef& node(const std::string& name, const std::string& op,
                            const std::vector<std::string>& inputs) {
    tensorflow::NodeDef& node = *graph_.add_node();
    node.set_name(name);
    node.set_op(op);
    for (const std::string& input : inputs) node.add_input(input);
    return node;
  }

  static void set_type(tensorflow::NodeDef& node, const std::string& attr, DType dtype) {
    (*node.mutable_attr())[attr].set_type(
        static_cast<tensorflow::DataType>(dtype_to_message(dtype)));
  }

  void set_dtypes(tensorflow::NodeDef& node) const {
    auto* list = (*node.mutable_attr())["dtypes"].mutable_list();
    for (const Variable& variable : variables_) {
      list->add_type(static_cast<tensorflow::DataType>(dtype_to_message(variable.dtype())));
    }
  }

  void constant(const std::string& name, const Tensor& value) {
    tensorflow::NodeDef& made = node(name, "Const", {});
    set_type(made, "dtype", DType::string);
    tensor_to_message(value, *(*made.mutable_attr())["value"].mutable_tensor());
  }

  void with_default(const std::string& name, const std::string& input) {
    tensorflow::NodeDef& made = node(name, "PlaceholderWithDefault", {input});
    set_type(made, "dtype", DType::string);
    (*made.mutable_attr())["shape"].mutable_shape();
  }

  void add_filename() {
    constant("save/filename/input", Tensor("model"));
    with_default("save/filename", "save/filename/input");
    with_default("save/Const", "save/filename");
  }

  // The names of the tensors in the checkpoint, and the slices to read: whole tensors.
  void add_names(const std::string& scope) {
    const auto count = static_cast<int64_t>(variables_.size());
    std::vector<std::string> names;
    for (const Variable& variable : variables_) names.push_back(variable.name());
    constant(scope + "/tensor_names", Tensor::of<std::string>({count}, names));
    constant(scope + "/shape_and_slices",
             Tensor::of<std::string>({count}, std::vector<std::string>(names.size())));
  }

  void add_save() {
    add_names("save/SaveV2");
    std::vector<std::string> inputs = {"save/Const", "save/SaveV2/tensor_names",
                                       "save/SaveV2/shape_and_slices"};
    for (const Variable& variable : variables_) inputs.push_back(variable.value().node()->name());
    set_dtypes(node("save/SaveV2", "SaveV2", inputs));
    tensorflow::NodeDef& done =
        node("save/control_dependency", "Identity", {"save/Const", "^save/SaveV2"});
    set_type(done, "T", DType::string);
  }

  void add_restore() {
    add_names("save/RestoreV2");
    set_dtypes(
        node("save/RestoreV2", "RestoreV2",
             {"save/Const", "save/RestoreV2/tensor_names", "save/RestoreV2/shape_and_slices"}));
    std::vector<std::string> assigned;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const std::string suffix = i == 0 ? "" : fmt::format("_{}", i);
      const std::string value = i == 0 ? "save/RestoreV2" : fmt::format("save/RestoreV2:{}", i);
      tensorflow::NodeDef& identity = node("save/Identity" + suffix, "Identity", {value});
      set_type(identity, "T", variables_[i].dtype());
      const std::string assign = "save/AssignVariableOp" + suffix;
      tensorflow::NodeDef& assignment =
          node(assign, "AssignVariableOp", {variables_[i].name(), identity.name()});
      set_type(assignment, "dtype", variables_[i].dtype());
      assigned.push_back("^" + assign);
    }
    node("save/restore_all", "NoOp", assigned);
  }

  const std::vector<Variable>& variables_;
  tensorflow::GraphDef& graph_;
};

}  // namespace

void add_saver_nodes(const std::vector<Variable>& variables, tensorflow::MetaGraphDef& message) {
  SaverNodes(variables, *message.mutable_graph_def()).add();
  tensorflow::SaverDef& saver = *message.mutable_saver_def();
  saver.set_filename_tensor_name("save/Const:0");
  saver.set_save_tensor_name("save/control_dependency:0");
  saver.set_restore_op_name("save/restore_all");
  saver.set_max_to_keep(5);
  saver.set_keep_checkpoint_every_n_hours(10000);
  saver.set_version(tensorflow::SaverDef::V2);
}

}  // namespace systole
