// A SavedModel: it is refused, or its signatures are built or refused.
#include "systole/io/saved_models/saved_model.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "systole/graph/api/array_ops.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/session/graph_def/graph_def.h"

namespace {

void build(const systole::SavedModelFile& file, size_t index,
           const systole::SignatureInfo& signature) {
  systole::Graph graph;
  const systole::GraphScope scope(graph);
  systole::ImportOptions options;
  for (const auto& [key, info] : signature.inputs) {
    const systole::DType dtype =
        info.dtype == systole::DType::invalid ? systole::DType::f32 : info.dtype;
    options.inputs[info.name] =
        systole::placeholder(dtype, info.shape.value_or(systole::Shape({systole::kUnknown})));
  }
  for (const auto& [key, info] : signature.outputs) options.outputs.push_back(info.name);
  systole::import_graph_def(file.message(index).graph_def(), options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const systole::SavedModelFile file("m.pb", {reinterpret_cast<const char*>(data), size});
    for (size_t i = 0; i < file.meta_graphs().size(); ++i) {
      for (const auto& [name, signature] : file.meta_graphs()[i].signatures) {
        try {
          build(file, i, signature);
        } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): as it may
        }
      }
    }
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): as it may
  }
  return 0;
}
