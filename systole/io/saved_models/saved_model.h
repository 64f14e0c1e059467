// SavedModel and graph files. session/graph_def runs their graphs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/base/shape.h"

namespace tensorflow {
class GraphDef;
class MetaGraphDef;
class SavedModel;
}  // namespace tensorflow

namespace systole {

// A tensor of a signature.
struct TensorInfo {
  std::string name;              // "x:0"; "" for an encoding of several tensors (sparse)
  std::string dtype_name;        // TensorFlow's: "DT_FLOAT"
  DType dtype = DType::invalid;  // `invalid` if it is not supported
  std::optional<Shape> shape;    // nullopt if the rank is unknown
};

struct SignatureInfo {
  std::string method_name;  // "tensorflow/serving/predict"
  std::map<std::string, TensorInfo> inputs;
  std::map<std::string, TensorInfo> outputs;
};

struct GraphInfo {
  int64_t nodes = 0;
  int64_t functions = 0;
  int producer = 0;                    // the version of the writer
  std::map<std::string, int64_t> ops;  // number of nodes of each op
  std::vector<std::string> inputs;     // names of placeholders, in their order
};

struct SaverInfo {
  std::string filename_tensor;
  std::string save_tensor;
  std::string restore_op;
  bool sharded = false;
  int version = 0;
};

struct MetaGraphInfo {
  std::vector<std::string> tags;
  std::string tensorflow_version;
  std::string writer;  // MetaInfoDef's tensorflow_git_version: "systole" of our exports
  GraphInfo graph;
  std::map<std::string, SignatureInfo> signatures;
  std::vector<std::string> collections;
  std::optional<SaverInfo> saver;
  std::vector<std::string> assets;  // file names in assets/
  int64_t object_graph_nodes = 0;   // of TensorFlow 2
};

// The directory of a SavedModel: saved_model.pb or saved_model.pbtxt, variables/variables.* (a
// tensor bundle) and assets/. Immutable; thread-safe.
class SavedModelFile {
 public:
  // Reads DIRECTORY/saved_model.pb, or saved_model.pbtxt if there is none. Errors: those of the
  // file; NOT_FOUND if the directory is not a SavedModel; DATA_LOSS if it cannot be parsed;
  // UNIMPLEMENTED for another schema version.
  SavedModelFile(FileSystem& file_system, const std::string& directory);
  // Reads the bytes of such a file.
  SavedModelFile(const std::string& path, std::string_view bytes);
  ~SavedModelFile();
  SavedModelFile(SavedModelFile&&) noexcept;

  const std::string& path() const { return path_; }
  int64_t schema_version() const;
  const std::vector<MetaGraphInfo>& meta_graphs() const { return infos_; }
  // Returns the index of the graph with exactly these tags. Errors: NOT_FOUND, with the existing
  // tags.
  size_t find(const std::vector<std::string>& tags) const;
  const tensorflow::MetaGraphDef& message(size_t index) const;

 private:
  void parse(std::string_view bytes);

  std::string path_;
  std::unique_ptr<tensorflow::SavedModel> message_;
  std::vector<MetaGraphInfo> infos_;
};

// Returns "DIRECTORY/variables/variables", the prefix of a SavedModel's bundle.
std::string saved_model_variables(const std::string& directory);

GraphInfo graph_info(const tensorflow::GraphDef& graph);
MetaGraphInfo meta_graph_info(const std::string& path, const tensorflow::MetaGraphDef& message);

// A file with one GraphDef, in bytes or in text (*.pbtxt), or a MetaGraphDef (*.meta) with one.
std::unique_ptr<tensorflow::GraphDef> read_graph_def(FileSystem& file_system,
                                                     const std::string& path);

}  // namespace systole
