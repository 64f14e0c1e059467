#include "systole/session/device/feeds.h"

namespace systole {

std::vector<Output> outputs_among(std::span<const FetchKey> fetches) {
  std::vector<Output> outputs;
  for (const FetchKey& fetch : fetches) {
    if (!fetch.is_operation()) outputs.emplace_back(fetch.node, fetch.index);
  }
  return outputs;
}

std::vector<Node*> targets_among(std::span<const FetchKey> fetches) {
  std::vector<Node*> targets;
  for (const FetchKey& fetch : fetches) {
    if (fetch.is_operation()) targets.push_back(fetch.node);
  }
  return targets;
}

}  // namespace systole
