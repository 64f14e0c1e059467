// The program that a session runs for some outputs, with the values of its variables as constants.
#pragma once

#include <memory>
#include <span>

#include "systole/graph/lowering/specialize.h"
#include "systole/hlo/ir/module.h"
#include "systole/session/session.h"

namespace systole {

// Returns main(feeds) -> (outputs) for inference: to quantize, to compile for another device, to
// keep. Errors: INVALID_ARGUMENT if the outputs draw random numbers, update variables or check
// their inputs at run time; those of specialize(); UNIMPLEMENTED for ops that run on the host.
std::unique_ptr<hlo::Module> inference_program(Session& session, std::span<const Output> outputs,
                                               std::span<const Feed> feeds);

}  // namespace systole
