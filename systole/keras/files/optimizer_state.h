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

// The state as Keras 3 numbers it: iterations, the learning rate unless it decays, and the slots,
// those of one parameter side by side. None for an optimizer that has not trained.
std::vector<Tensor> keras3_optimizer_values(const OptimizerDefinition& optimizer);
// The same in return, also of TensorFlow 2.11 to 2.15, which leave the learning rate out. Returns
// false, and changes nothing, for values of another model.
bool set_keras3_optimizer_values(std::vector<Tensor> values, OptimizerDefinition& optimizer,
                                 std::span<const WeightPtr> parameters);

}  // namespace systole::keras
