// Variables that start at the values of others: moving averages.
#pragma once

#include <vector>

#include "systole/graph/core/variable.h"
#include "systole/session/session.h"

namespace systole {

// For variables of the session that were set to other values than their initial ones (a warm
// start): initialises the variables whose initial values are computed from theirs anew, as if
// those were their initial values. Other variables keep their values.
void initialize_dependents(Session& session, const std::vector<Variable>& changed);

}  // namespace systole
