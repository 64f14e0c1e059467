// Ops in texts that no module keeps, said with those that it does: StableHLO's deprecated ones (dot,
// broadcast, create_token, einsum, cross-replica-sum), CHLO, and the dialects of StableHLO's own
// tests (check, interpreter), which become custom calls of the same names.
#pragma once

#include <optional>
#include <vector>

#include "systole/hlo/module.h"
#include "systole/hlo/text/op_reader.h"

namespace systole::hlo::text {

// Appends what stands for `op` to `computation`, and returns the values that stand for its results;
// nullopt when nothing does. Errors: INVALID_ARGUMENT; UNIMPLEMENTED for forms of these ops that we
// cannot say; neither has the op's place.
std::optional<std::vector<Value>> import_op(Lexer& lexer, Computation& computation,
                                            const ParsedOp& op);

}  // namespace systole::hlo::text
