// The rows of a worker on loopback.
#pragma once

namespace bench {

// Called once by main.
void add_remote_figures();

}  // namespace bench
