// What names the machines of a cluster: answers of Kubernetes and of the Cloud TPU API, TF_CONFIG,
// and Slurm's lists.
#include <cstdlib>

#include "systole/cluster/cloud_tpu.h"
#include "systole/cluster/kubernetes_cluster_resolver.h"
#include "systole/cluster/slurm_cluster_resolver.h"
#include "systole/cluster/tf_config_cluster_resolver.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace systole;
  const std::string text(fuzz::text_of(data, size));
  fuzz::may_refuse([&] { (void)is_recoverable(parse_cloud_tpu_node("fuzz", text)); });
  fuzz::may_refuse([&] { (void)parse_kubernetes_pods("fuzz", text, 8470); });
  constexpr size_t kMaxHosts = 100'000;
  fuzz::may_refuse([&] {
    if (expand_host_list(text).size() > kMaxHosts) __builtin_trap();
  });
  fuzz::may_refuse([&] { (void)expand_task_counts(text); });
  if (text.find('\0') != std::string::npos) return 0;
  ::setenv("TF_CONFIG", text.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  fuzz::may_refuse([&] { (void)TFConfigClusterResolver().master(); });
  ::setenv("SLURM_STEP_NODELIST", "n[1-3]", 1);            // NOLINT(concurrency-mt-unsafe)
  ::setenv("SLURM_NTASKS", "4", 1);                        // NOLINT(concurrency-mt-unsafe)
  ::setenv("SLURM_PROCID", "1", 1);                        // NOLINT(concurrency-mt-unsafe)
  ::setenv("SLURM_STEP_TASKS_PER_NODE", text.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  fuzz::may_refuse([&] { (void)SlurmClusterResolver().master(); });
  return 0;
}
