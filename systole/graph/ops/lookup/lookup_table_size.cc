#include "systole/graph/core/host_op.h"
#include "systole/graph/ops/lookup/table.h"

namespace systole {
namespace {

std::vector<TensorType> infer_lookup_table_size(const InferContext& c) {
  check_table(c);
  return {{DType::s64, {}}};
}

void export_lookup_table_size(ExportContext& c) {
  const std::string table = export_table(c);
  c.records.push_back({"LookupTableSizeV2", c.node.name(), {table}, {}});
}

}  // namespace

namespace ops {
extern const OpDef op_lookup_table_size{
    .name = "LookupTableSizeV2",
    .doc = "The number of keys in a table.",
    .inputs = "table_handle: resource",
    .outputs = "size: int64",
    .graph_def = {.aliases = "LookupTableSize",
                  .import_node =
                      [](const ImportContext& c) { return c.add({}, imported_table(c)); },
                  .export_node = export_lookup_table_size},
    .infer = infer_lookup_table_size,
    .host = kernel_of_session,
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
