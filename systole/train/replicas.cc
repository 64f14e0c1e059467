#include "systole/train/replicas.h"

namespace systole {

Output replica_sum(const Output& x) { return x; }

Output replica_mean(const Output& x) { return x; }

}  // namespace systole
