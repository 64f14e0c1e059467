// The profile as XProf and TensorBoard read it.
#pragma once

#include <string>

#include "systole/profile/analysis.h"

namespace systole::profile {

// Returns an XSpace message (proto/xplane.proto): a plane of the device with its peaks and rows for
// steps, programs and ops, a plane of the host with a line for each thread, and the planes of the
// environment. Of more than `most` events of a line the shortest are left out.
std::string xplane_bytes(const tracing::Recording& recording, const Analysis& analysis,
                         const std::string& host_name, int64_t most = 1'000'000);

}  // namespace systole::profile
