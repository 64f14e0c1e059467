#include "systole/graph/core/host_op.h"
#include "systole/graph/ops/lookup/table.h"

namespace systole::ops {

extern const OpDef op_initialize_table{
    .name = "InitializeTable",
    .doc = "Reads a table.",
    .graph_def = {
        .aliases = "InitializeTableFromTextFileV2 InitializeTableFromTextFile InitializeTableV2 "
                   "LookupTableImportV2",
        .import_node = [](const ImportContext& c) { return c.add({}, imported_table(c)); },
        .export_node = [](ExportContext& c) { export_table(c); },
    },
    .infer = [](const InferContext&) { return std::vector<TensorType>(); },
    .host = kernel_of_session,
    .traits = {.stateful = true},
};

}  // namespace systole::ops
