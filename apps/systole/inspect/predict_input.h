// Reads the inputs of a SavedModel from files.
#pragma once

#include <string>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/hlo/ir/module.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/train/saved_model.h"

namespace systole::app {

// `specs` are FILE, for a signature of one input or for all inputs at once, or NAME=FILE.
//   .npy      one array
//   .csv      a column for each name; with one input, all columns as a matrix
//   .tfrecord and others: tf.Examples with a feature for each name; the records themselves for an
//             input of strings
// Converts numbers to the input's dtype. Errors: those of the files; INVALID_ARGUMENT names missing
// inputs.
NamedTensors read_predict_inputs(FileSystem& file_system, const SignatureInfo& signature,
                                 const std::vector<std::string>& specs);

// Returns the inputs of a StableHLO program as a signature: arg0, arg1..., with a first dimension
// of any size. Errors: INVALID_ARGUMENT for a main without parameters or with more than ten, and
// for scalars.
SignatureInfo signature_of_program(const hlo::Module& program, const std::string& path);

// The names of a program's results: those that set_result_name() gave, otherwise result0,
// result1...
std::vector<std::string> result_names(const hlo::Module& program);
// Names a result by its attribute `systole.name`. Ignores a name with other characters than
// letters, digits, '_', '-' and '.'.
void set_result_name(hlo::AttributeTexts& attributes, const std::string& name);

}  // namespace systole::app
