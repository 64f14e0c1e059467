// An optimizer's iterations and slots in Keras's HDF5 files.
//   optimizer_weights                   attribute weight_names
//   optimizer_weights/<weight name>     Adam/iterations:0, training/Adam/Variable:0, Variable_1:0,
//   ...
#pragma once

#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/hdf5/hdf5_writer.h"
#include "systole/keras/optimizers/optimizer.h"

namespace systole::keras {

// In Keras's order. Writes nothing for an optimizer that has not trained.
void write_optimizer_state(Hdf5Writer& file, const OptimizerDefinition& optimizer);

// Reads what any version of Keras 2 wrote for this optimizer, when it trains `parameters`. Returns
// false, and changes nothing, where the file has no such state or one of another model.
bool read_optimizer_state(const Hdf5Reader& file, OptimizerDefinition& optimizer,
                          std::span<const WeightPtr> parameters);

}  // namespace systole::keras
