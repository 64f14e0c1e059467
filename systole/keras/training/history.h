// What fit() returns. (tf.keras.callbacks.History)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace systole::keras {

struct History {
  std::vector<int64_t> epoch;                          // indices from 0
  std::map<std::string, std::vector<double>> history;  // by name: "loss", "acc", "val_loss"...
  // The signal that ended the training early, "SIGINT"; else "". See interruption.h.
  std::string stopped_by = {};
};

}  // namespace systole::keras
