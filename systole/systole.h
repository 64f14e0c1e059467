// Everything that a program which builds and runs graphs needs. `namespace st` is short for it.
#pragma once

#include "systole/cluster/tpu_cluster_resolver.h"
#include "systole/graph/array_ops.h"
#include "systole/graph/control_flow_ops.h"
#include "systole/graph/gradients.h"
#include "systole/graph/graph.h"
#include "systole/graph/initializers.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/nn_ops.h"
#include "systole/graph/random_ops.h"
#include "systole/graph/tpu_collectives.h"
#include "systole/graph/tpu_ops.h"
#include "systole/graph/tpu_replicate.h"
#include "systole/graph/variable.h"
#include "systole/graph/variable_scope.h"
#include "systole/session/session.h"
#include "systole/session/step_loop.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/layers.h"
#include "systole/train/learning_rate_decay.h"
#include "systole/train/losses.h"
#include "systole/train/metrics.h"
#include "systole/train/optimizer.h"

namespace st = systole;
