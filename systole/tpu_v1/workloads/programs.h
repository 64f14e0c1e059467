// The generators of the reconstructed programs. workloads.h lists them.
#pragma once

#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

Program mlp0_program(const MachineConfig& config);
Program mlp1_program(const MachineConfig& config);
Program lstm0_program(const MachineConfig& config);
Program lstm1_program(const MachineConfig& config);
Program cnn0_program(const MachineConfig& config);
Program cnn1_program(const MachineConfig& config);

}  // namespace systole::tpu_v1
