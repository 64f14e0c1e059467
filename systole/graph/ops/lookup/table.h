// What the ops on lookup tables have in common: the attributes that tell a table, and its nodes in
// TensorFlow's graphs.
//
// A node of ours has its table as attributes:
//   key_dtype, value_dtype    string to s64, or back
//   filename, vocabulary      a file with a word a line, or (filename "") a vector of strings
//   vocab_size                words that count; 0: all
//   _table, _initializer      names of TensorFlow's nodes: the table, and what fills it
// TensorFlow has a node HashTableV2, filled by InitializeTableFromTextFileV2 or InitializeTableV2.
#pragma once

#include <string>

#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// Checks the dtypes of a table. Errors: INVALID_ARGUMENT.
void check_table(const InferContext& c);

// Writes the table and its initializer; returns the reference to the table.
std::string export_table(ExportContext& c);

// The table's attributes of the node that input 0 is. Errors: INVALID_ARGUMENT when it is no table.
AttrMap imported_table(const ImportContext& c);

}  // namespace systole
