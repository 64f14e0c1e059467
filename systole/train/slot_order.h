// The names of centered RMSProp's slots in checkpoints.
//
// TensorFlow makes them in the order rms, mg, momentum: "w/RMSProp", "w/RMSProp_1",
// "w/RMSProp_2". Checkpoints that this library wrote before version 2 of the order had momentum
// before mg. New ones say in their extras which order they have.
#pragma once

#include <map>
#include <string>

#include "systole/base/file_system.h"
#include "systole/graph/core/graph.h"
#include "systole/train/checkpoint_extras.h"

namespace systole {

// Adds the order to the extras of a checkpoint of a graph that has such slots.
void mark_slot_order(const Graph& graph, CheckpointExtras& extras);

// Returns the names that slots of the graph have in this checkpoint, for those that have another
// one; nothing for a checkpoint of today's order or of TensorFlow. A checkpoint that is known by
// its extras or its `.meta` file to be this library's and does not tell its order has the old one.
std::map<std::string, std::string> old_slot_names(const Graph& graph, FileSystem& file_system,
                                                  const std::string& prefix);

}  // namespace systole
