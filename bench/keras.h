// Tasks of child processes of startup.cc.
#pragma once

namespace bench {

// Seconds until the first batch of the IMDB program has been trained on.
double seconds_to_compile_imdb_lstm();

}  // namespace bench
