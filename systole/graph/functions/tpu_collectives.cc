#include "systole/graph/api/tpu_collectives.h"

#include "systole/base/error.h"

namespace systole::tpu {
namespace {

// How many ShardContexts live on this thread.
int& depth() {
  thread_local int depth = 0;
  return depth;
}

}  // namespace

void TpuContext::set_number_of_shards(std::optional<int> number) {
  if (number && *number < 1) {
    throw invalid_argument("set_number_of_shards: number, got {}, expected at least 1", *number);
  }
  number_of_shards_ = number;
}

TpuContext& get_tpu_context() {
  thread_local TpuContext context;
  return context;
}

ShardContext::ShardContext(int number_of_shards) : previous_(get_tpu_context().number_of_shards()) {
  if (depth() > 0) throw unimplemented("tpu_shard_context cannot be nested.");
  get_tpu_context().set_number_of_shards(number_of_shards);
  ++depth();
}

ShardContext::~ShardContext() {
  get_tpu_context().set_number_of_shards(previous_);
  --depth();
}

}  // namespace systole::tpu
