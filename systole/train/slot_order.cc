#include "systole/train/slot_order.h"

#include "systole/base/log.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/train/checkpoint_extras.h"
#include "systole/train/meta_graph.h"

namespace systole {
namespace {

constexpr const char* kSlotOrder = "centered_rms_prop_slots";
constexpr const char* kOrder = "rms, mg, momentum";
// Inputs of ResourceApplyCenteredRMSProp.
enum : int { kMeanGradientSlot = 1, kMomentumSlot = 3 };

// Names of the slots mg and momentum, both ways.
std::map<std::string, std::string> exchanged_slots(const Graph& graph) {
  std::map<std::string, std::string> names;
  for (const auto& node : graph.nodes()) {
    if (!node->op_name().ends_with("ApplyCenteredRMSProp")) continue;
    const std::string& mean = node->input(kMeanGradientSlot).node()->name();
    const std::string& momentum = node->input(kMomentumSlot).node()->name();
    names[mean] = momentum;
    names[momentum] = mean;
  }
  return names;
}

bool written_here(FileSystem& file_system, const std::string& prefix) {
  for (const int shards : {1, 2}) {
    if (file_system.exists(checkpoint_extras_path(prefix, shards))) return true;
  }
  const std::string meta_path = prefix + ".meta";
  if (!file_system.exists(meta_path)) return false;
  tensorflow::MetaGraphDef meta;
  parse_message(meta_path, read_file(file_system, meta_path), meta);
  return meta.meta_info_def().tensorflow_git_version() == kWriter;
}

bool tells_order(FileSystem& file_system, const std::string& prefix) {
  try {
    return read_checkpoint_extras(file_system, prefix).contains(kSlotOrder);
  } catch (const Error& error) {  // damaged: whoever needs the extras says so
    if (error.code() != Code::data_loss) throw;
    return true;
  }
}

}  // namespace

void mark_slot_order(const Graph& graph, CheckpointExtras& extras) {
  if (!exchanged_slots(graph).empty()) extras[kSlotOrder] = kOrder;
}

std::map<std::string, std::string> old_slot_names(const Graph& graph, FileSystem& file_system,
                                                  const std::string& prefix) {
  std::map<std::string, std::string> names = exchanged_slots(graph);
  if (names.empty() || tells_order(file_system, prefix) || !written_here(file_system, prefix)) {
    return {};
  }
  log_info("{}: centered RMSProp's slots have the order of earlier versions", prefix);
  return names;
}

}  // namespace systole
