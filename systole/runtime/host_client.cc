#include "systole/runtime/host_client.h"

#include <algorithm>
#include <array>

#include "systole/base/error.h"
#include "systole/base/thread_pool.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/ir/placement.h"

namespace systole::runtime {
namespace {

constexpr int64_t kMaxCores = kMaxReplicas;
constexpr int kCoresPerChip = 2;

// Chips of a slice lie in a mesh with sides that are powers of two, as square as they can be.
int mesh_width(int num_chips) {
  int width = 1;
  while (width * width < num_chips) width *= 2;
  return width;
}

std::vector<Device> describe_cores(const std::string& platform, std::string_view machine,
                                   int64_t machine_bytes, const ClientOptions& options) {
  const int64_t cores = option<int64_t>(options, "cores");
  const int64_t core_memory = option<int64_t>(options, "core_memory");
  const std::string& kind = option<std::string>(options, "core_kind");
  if (cores < 1 || cores > kMaxCores) {
    throw invalid_argument("{}: client option 'cores', got {}, expected 1 to {}", platform, cores,
                           kMaxCores);
  }
  if (core_memory < 0) {
    throw invalid_argument("{}: client option 'core_memory', got {}, expected bytes, or 0",
                           platform, core_memory);
  }
  const int num_cores = static_cast<int>(cores);
  const int width = mesh_width((num_cores + kCoresPerChip - 1) / kCoresPerChip);
  std::vector<Device> devices;
  for (int id = 0; id < num_cores; ++id) {
    const int chip = id / kCoresPerChip;
    devices.push_back({.id = id,
                       .coordinates = {chip % width, chip / width, 0},
                       .core_on_chip = id % kCoresPerChip,
                       .name = fmt::format("{}:{}", platform, id),
                       .kind = kind.empty() ? std::string(machine) : kind,
                       .memory_bytes = core_memory > 0 ? core_memory : machine_bytes});
  }
  return devices;
}

using KnownCall = std::function<bool(const hlo::Instruction&)>;

// The first custom call that no device computes, nullptr if there is none.
const hlo::Instruction* find_unknown_call(const hlo::Computation& computation,
                                          const KnownCall& known) {
  for (const hlo::Instruction* x : computation.instructions()) {
    if (x->is(hlo::Opcode::custom_call) && !hlo::is_placement(*x) && !known(*x)) return x;
    for (const auto& region : x->regions()) {
      if (const auto* const found = find_unknown_call(*region, known)) return found;
    }
  }
  return nullptr;
}

}  // namespace

int max_threads() {
  constexpr int kAlways = 64;
  constexpr int kForEachCpu = 4;
  return std::max(kAlways, kForEachCpu * ThreadPool::global().num_threads());
}

std::span<const OptionDef> host_client_options() {
  static const std::array<OptionDef, 3> options = {{
      {"cores", int64_t{1}, "number of devices; more than one: the cores of a virtual TPU"},
      {"core_memory", int64_t{0}, "bytes that a core may use; 0: all of this machine's memory"},
      {"core_kind", std::string(), "what Device::kind says; \"\": this machine's processor"},
  }};
  return options;
}

HostClient::HostClient(std::string platform, std::string_view kind, int64_t memory_bytes,
                       const ClientOptions& resolved)
    : platform_(std::move(platform)),
      core_memory_(option<int64_t>(resolved, "core_memory")),
      devices_(describe_cores(platform_, kind, memory_bytes, resolved)),
      memory_(std::make_shared<HostMemory>(devices_.size())) {
  for (const Device& device : devices_) {
    alone_.push_back(std::make_shared<HostPlacement>(HostPlacement{memory_, {device.id}}));
  }
}

void HostClient::check_device(int id) const {
  if (id >= 0 && id < static_cast<int>(devices_.size())) return;
  throw invalid_argument("{}: device, got {}, expected 0{}", platform_, id,
                         devices_.size() > 1 ? fmt::format(" to {}", devices_.size() - 1) : "");
}

std::unique_ptr<Buffer> HostClient::buffer_from_host(Tensor tensor, const BufferOptions& options) {
  for (const int id : options.device_ids) check_device(id);
  if (options.host_memory_free != nullptr) *options.host_memory_free = Event();
  const size_t count = options.device_ids.size();
  check_space(tensor.type(), options);
  if (count <= 1) {
    const int id = count == 0 ? 0 : options.device_ids[0];
    return std::make_unique<HostBuffer>(std::move(tensor), alone_[id]);
  }
  if (options.stacked && (tensor.rank() == 0 || tensor.dim(0) != static_cast<int64_t>(count))) {
    throw invalid_argument("{}: stacked array, got {}, expected a first axis of {}", platform_,
                           tensor.type(), count);
  }
  return std::make_unique<HostBuffer>(
      std::move(tensor),
      std::make_shared<HostPlacement>(HostPlacement{
          memory_, {options.device_ids.begin(), options.device_ids.end()}, options.stacked}));
}

void HostClient::check_space(const TensorType& type, const BufferOptions& options) const {
  if (core_memory_ == 0) return;
  const auto count = static_cast<int64_t>(std::max<size_t>(options.device_ids.size(), 1));
  const int64_t bytes = type.byte_size() / (options.stacked ? count : 1);
  for (int64_t i = 0; i < count; ++i) {
    const int id = options.device_ids.empty() ? 0 : options.device_ids[i];
    const int64_t used = memory_->stats(id).bytes_in_use;
    if (bytes <= core_memory_ - used) continue;
    throw make_error(Code::resource_exhausted,
                     "{}: a buffer of {} needs {} bytes of device {}, which has {} of {} in use",
                     platform_, type, bytes, id, used, core_memory_);
  }
}

MemoryStats HostClient::memory_stats(int device_id) const {
  check_device(device_id);
  MemoryStats stats = memory_->stats(device_id);
  stats.bytes_limit = devices_[device_id].memory_bytes;
  return stats;
}

void HostClient::check_options(const hlo::Module& module, const CompileOptions& options) const {
  if (options.num_replicas < 1 || options.num_replicas > kMaxReplicas)
    throw invalid_argument("{}: num_replicas, got {}, expected 1 to {}", platform_,
                           options.num_replicas, kMaxReplicas);
  if (options.num_partitions < 1 || options.num_partitions > kMaxReplicas / options.num_replicas)
    throw invalid_argument("{}: num_partitions, got {}, expected 1 to {}", platform_,
                           options.num_partitions, kMaxReplicas / options.num_replicas);
  if (options.num_threads < 0 || options.num_threads > max_threads())
    throw invalid_argument("{}: num_threads, got {}, expected 0 to {}", platform_,
                           options.num_threads, max_threads());
  const int num_devices = options.num_replicas * options.num_partitions;
  if (const size_t count = options.device_assignment.size();
      count > 0 && count != static_cast<size_t>(num_devices)) {
    throw invalid_argument(
        "{}: device_assignment, got {} devices, expected {}, one a replica and partition",
        platform_, count, num_devices);
  }
  for (const int id : options.device_assignment) check_device(id);
  const auto parameters = static_cast<size_t>(module.entry().num_parameters());
  if (const size_t count = options.replicated_parameters.size(); count > 0 && count != parameters)
    throw invalid_argument("{}: replicated_parameters, got {}, expected {}, one a parameter",
                           platform_, count, parameters);
}

void HostClient::check_custom_calls(const hlo::Module& module, const KnownCall& known) const {
  for (const hlo::Computation* function : hlo::reached_from(module.entry())) {
    const hlo::Instruction* const x = find_unknown_call(*function, known);
    if (x == nullptr) continue;
    const std::string& target = x->attrs<hlo::CustomCallAttrs>().call_target_name;
    if (hlo::is_placement_target(target)) {
      throw unimplemented(
          "{}: custom_call '{}', got results of other types than the operands, expected the same: "
          "one device runs the program, {}",
          platform_, target, x->describe());
    }
    throw unimplemented("{}: custom_call: target, got '{}', expected one that this device has, {}",
                        platform_, target, x->describe());
  }
}

int64_t HostClient::memory_limit(const CompileOptions& options) const {
  return options.memory_limit > 0 ? options.memory_limit : core_memory_;
}

std::vector<int> HostClient::assigned_devices(const CompileOptions& options) const {
  if (!options.device_assignment.empty()) return options.device_assignment;
  std::vector<int> ids;
  for (int r = 0; r < options.num_replicas; ++r) {
    ids.push_back(r % static_cast<int>(devices_.size()));
  }
  return ids;
}

std::vector<std::shared_ptr<const HostPlacement>> HostClient::result_placements(
    const hlo::Module& module, const CompileOptions& options,
    std::span<const TensorType> types) const {
  const std::vector<int> devices = assigned_devices(options);
  const auto stacked = std::make_shared<HostPlacement>(HostPlacement{memory_, devices, true});
  // Several replicas of one device share what is the same on all of them.
  std::vector<int> distinct = devices;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const auto copies = std::make_shared<HostPlacement>(HostPlacement{memory_, distinct});
  std::vector<std::shared_ptr<const HostPlacement>> placements;
  for (size_t k = 0; k < types.size(); ++k) {
    placements.push_back(types[k] == module.entry().results()[k].type() ? copies : stacked);
  }
  return placements;
}

}  // namespace systole::runtime
