// Whole files in graphs: their bytes and their names. (tensorflow/python/ops/io_ops.py)
//
// All run on the host, with the files of this machine; no gradient. Errors when run: those of the
// file, with its name, the node and the user's line.
#pragma once

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole {

// The bytes of the file that `filename`, a string scalar, names: read anew in each run. -> string[]
// (tf.read_file)
Output read_file(const Input& filename, const NameOptions& options = {});
// Writes a file, which appears complete or not at all; folders that are not there are made.
// (tf.write_file)
Operation write_file(const Input& filename, const Input& contents, const NameOptions& options = {});
// The names of the files that match `pattern`, a string scalar or a vector of them, as
// Dataset::list_files takes them: sorted, none when none match. -> string[?] (tf.matching_files)
Output matching_files(const Input& pattern, const NameOptions& options = {});

}  // namespace systole
