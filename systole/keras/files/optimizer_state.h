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

// Reads what any version of Keras 2, or Keras 3, wrote for this optimizer, when it trains
// `parameters`. Returns false, and changes nothing, where the file has no such state or one of
// another model.
bool read_optimizer_state(const Hdf5Reader& file, OptimizerDefinition& optimizer,
                          std::span<const WeightPtr> parameters);

// Returns the optimizer's state in the order in which Keras 3 stores it: the iteration count, the
// learning rate (not with a decay schedule), then all slots of the first parameter, of the second
// and so on. Empty for an optimizer that has not trained.
std::vector<Tensor> keras3_optimizer_values(const OptimizerDefinition& optimizer);
// Sets the state from values in that order. Those of TensorFlow 2.11 to 2.15 have no learning rate.
// Returns false, and changes nothing, if the values do not fit the optimizer and `parameters`.
bool set_keras3_optimizer_values(std::vector<Tensor> values, OptimizerDefinition& optimizer,
                                 std::span<const WeightPtr> parameters);

}  // namespace systole::keras
