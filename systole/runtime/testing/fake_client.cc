#include "systole/runtime/testing/fake_client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "systole/runtime/host_buffer.h"
#include "systole/runtime/host_client.h"
#include "systole/runtime/registry.h"
#include "systole/runtime/testing/fake_queue.h"

namespace systole::runtime::testing {
namespace {

// One value of a buffer. A launch that overwrites a buffer gives it a new one, so that earlier
// launches still read the old one.
struct Version {
  Version(TensorType type, std::shared_ptr<const HostPlacement> where)
      : type(std::move(type)), placement(std::move(where)) {
    placement->charge(this->type.byte_size(), 1);
  }
  ~Version() { placement->charge(type.byte_size(), -1); }
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;

  TensorType type;
  std::shared_ptr<const HostPlacement> placement;
  Tensor value;  // once it is ready
  Promise promise;
  Event ready = promise.event();
};
using VersionPtr = std::shared_ptr<Version>;

}  // namespace

struct FakeClient::Shared {
  explicit Shared(const FakeClientOptions& options)
      : options(options), queue(options.max_delay_us, options.seed) {}

  std::optional<Error> failure(FakeCall call) {
    const int64_t count = counts[static_cast<size_t>(call)].fetch_add(1);
    return options.fail ? options.fail(call, count) : std::nullopt;
  }
  void throw_failure(FakeCall call) {
    if (const std::optional<Error> error = failure(call)) throw Error(*error);
  }

  FakeClientOptions options;
  std::array<std::atomic<int64_t>, 6> counts{};
  std::shared_ptr<HostMemory> memory;
  FakeQueue queue;  // destroyed first: its tasks use the others
};

namespace {

template <class Shared>
class FakeBuffer final : public Buffer {
 public:
  FakeBuffer(std::shared_ptr<Shared> shared, VersionPtr version)
      : shared_(std::move(shared)), version_(std::move(version)) {}
  const TensorType& type() const override { return version_->type; }
  int device_id() const override { return version_->placement->devices.front(); }
  Event ready() const override { return version_->ready; }

  Event copy_to_host(Tensor& target) const override {
    const auto done = std::make_shared<Promise>();
    Event event = done->event();
    shared_->queue.add(version_->ready, [version = version_, done, &target,
                                         shared = shared_.get()](const Error* error) {
      if (error != nullptr) return done->fail(*error);
      if (const auto failure = shared->failure(FakeCall::download)) return done->fail(*failure);
      copy_elements(version->value, target);
      done->set();
    });
    return event;
  }

  const VersionPtr& version() const { return version_; }
  void set_version(VersionPtr version) { version_ = std::move(version); }

 private:
  std::shared_ptr<Shared> shared_;
  VersionPtr version_;
};

// What a launch computes.
struct Launch {
  std::vector<VersionPtr> arguments;
  std::vector<VersionPtr> results;
  std::vector<Tensor*> host;  // by result; may be null
  Promise done;

  void fail(const Error& error) {
    for (const VersionPtr& result : results) result->promise.fail(error);
    done.fail(error);
  }
};

template <class Shared>
class FakeExecutable final : public Executable {
 public:
  FakeExecutable(std::shared_ptr<Shared> shared, std::unique_ptr<Executable> inner,
                 const hlo::Module& module, std::vector<int> devices)
      : shared_(std::move(shared)), inner_(std::move(inner)), aliases_(module.aliases) {
    for (size_t k = 0; k < result_types().size(); ++k) {
      const bool stacked = result_types()[k] != module.entry().results()[k].type();
      placements_.push_back(
          std::make_shared<HostPlacement>(HostPlacement{shared_->memory, devices, stacked}));
    }
  }

  std::span<const TensorType> parameter_types() const override { return inner_->parameter_types(); }
  std::span<const TensorType> result_types() const override { return inner_->result_types(); }
  const ExecutableStats& stats() const override { return inner_->stats(); }
  std::string optimized_program() const override { return inner_->optimized_program(); }

  Event execute(std::span<const Argument> arguments, std::span<const Result> results,
                const ExecuteOptions& options) override {
    check(arguments, results);
    shared_->throw_failure(FakeCall::launch);
    const auto launch = std::make_shared<Launch>();
    std::vector<Event> wanted;
    for (const Argument& argument : arguments) {
      launch->arguments.push_back(version_of(argument));
      wanted.push_back(launch->arguments.back()->ready);
    }
    for (size_t k = 0; k < results.size(); ++k) {
      launch->results.push_back(std::make_shared<Version>(result_types()[k], placements_[k]));
      launch->host.push_back(results[k].host);
      if (results[k].device != nullptr) {
        *results[k].device = std::make_unique<FakeBuffer<Shared>>(shared_, launch->results.back());
      }
    }
    donate(arguments, *launch);
    Event event = launch->done.event();
    shared_->queue.add(all_of(wanted), [launch, inner = inner_, shared = shared_.get(),
                                        profile = options.profile](const Error* error) {
      if (error != nullptr) return launch->fail(*error);
      if (const auto failure = shared->failure(FakeCall::run)) return launch->fail(*failure);
      try {
        compute(*inner, *launch, profile);
      } catch (const Error& failure) {
        launch->fail(failure);
      }
    });
    return event;
  }

 private:
  void check(std::span<const Argument> arguments, std::span<const Result> results) const {
    if (arguments.size() != parameter_types().size() || results.size() != result_types().size()) {
      throw invalid_argument("fake: number of arguments and results, got {} and {}",  //
                             arguments.size(), results.size());
    }
    for (size_t p = 0; p < arguments.size(); ++p) {
      const Argument& argument = arguments[p];
      if (argument.buffer == nullptr) {
        if (argument.host == nullptr) throw invalid_argument("fake: argument {}, got none", p);
        continue;
      }
      if (dynamic_cast<FakeBuffer<Shared>*>(argument.buffer) == nullptr) {
        throw invalid_argument(
            "fake: argument {}, got another backend's buffer, expected one of its own", p);
      }
      const auto same = [&](const Argument& other) { return other.buffer == argument.buffer; };
      if (argument.donate && std::ranges::count_if(arguments, same) > 1) {
        throw invalid_argument("fake: argument {}, got a donated buffer that another reads", p);
      }
    }
  }

  VersionPtr version_of(const Argument& argument) const {
    if (argument.buffer != nullptr) {
      return static_cast<FakeBuffer<Shared>*>(argument.buffer)->version();
    }
    const auto& placement = placements_.empty() ? nowhere() : placements_.front();
    auto version = std::make_shared<Version>(argument.host->type(), placement);
    version->value = argument.host->clone();
    version->promise.set();
    return version;
  }

  std::shared_ptr<const HostPlacement> nowhere() const {
    return std::make_shared<HostPlacement>(HostPlacement{shared_->memory, {}});
  }

  // A donated buffer holds its result, or nothing that may be read.
  void donate(std::span<const Argument> arguments, Launch& launch) const {
    for (size_t p = 0; p < arguments.size(); ++p) {
      if (arguments[p].buffer == nullptr || !arguments[p].donate) continue;
      auto& buffer = *static_cast<FakeBuffer<Shared>*>(arguments[p].buffer);
      const auto alias =
          std::ranges::find(aliases_, static_cast<int>(p), &hlo::Module::Alias::parameter);
      if (alias != aliases_.end()) {
        buffer.set_version(launch.results[alias->result]);
        continue;
      }
      const auto lost = std::make_shared<Version>(buffer.type(), buffer.version()->placement);
      lost->promise.fail(failed_precondition("fake: buffer, got one that was donated"));
      buffer.set_version(lost);
    }
  }

  static void compute(Executable& inner, Launch& launch, std::vector<StepProfile>* profile) {
    std::vector<Tensor> inputs;
    for (const VersionPtr& argument : launch.arguments) inputs.push_back(argument->value);
    std::vector<Tensor> values = runtime::run(inner, inputs, {.profile = profile});
    for (size_t k = 0; k < values.size(); ++k) {
      if (launch.host[k] != nullptr) copy_elements(values[k], *launch.host[k]);
      launch.results[k]->value = std::move(values[k]);
    }
    for (const VersionPtr& result : launch.results) result->promise.set();
    launch.arguments.clear();
    launch.done.set();
  }

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Executable> inner_;
  std::vector<hlo::Module::Alias> aliases_;
  std::vector<std::shared_ptr<const HostPlacement>> placements_;  // by result
};

}  // namespace

FakeClient::FakeClient(Client& inner, const FakeClientOptions& options)
    : inner_(inner),
      devices_(inner.devices().begin(), inner.devices().end()),
      shared_(std::make_shared<Shared>(options)) {
  shared_->memory = std::make_shared<HostMemory>(devices_.size());
  for (Device& device : devices_) device.name = fmt::format("fake:{}", device.id);
}

FakeClient::~FakeClient() { release(); }

void FakeClient::hold() { shared_->queue.set_held(true); }
void FakeClient::release() { shared_->queue.set_held(false); }

std::unique_ptr<Executable> FakeClient::compile(const hlo::Module& module,
                                                const CompileOptions& options) {
  shared_->throw_failure(FakeCall::compile);
  std::unique_ptr<Executable> inner = inner_.compile(module, options);
  std::vector<int> devices = options.device_assignment;
  for (int r = static_cast<int>(devices.size()); r < options.num_replicas; ++r) {
    devices.push_back(r % static_cast<int>(devices_.size()));
  }
  return std::make_unique<FakeExecutable<Shared>>(shared_, std::move(inner), module,
                                                  std::move(devices));
}

std::unique_ptr<Buffer> FakeClient::buffer_from_host(Tensor tensor, const BufferOptions& options) {
  shared_->throw_failure(FakeCall::upload);
  std::vector<int> ids(options.device_ids.begin(), options.device_ids.end());
  if (ids.empty()) ids.push_back(0);
  for (const int id : ids) static_cast<void>(memory_stats(id));  // checks it
  auto version = std::make_shared<Version>(
      tensor.type(), std::make_shared<HostPlacement>(
                         HostPlacement{shared_->memory, std::move(ids), options.stacked}));
  auto free = std::make_shared<Promise>();
  if (options.host_memory_free != nullptr) {
    *options.host_memory_free = free->event();
  } else if (!tensor.unique()) {
    tensor = tensor.clone();
  }
  auto buffer = std::make_unique<FakeBuffer<Shared>>(shared_, version);
  shared_->queue.add(
      Event(), [version, free, tensor = std::move(tensor), shared = shared_.get()](const Error*) {
        const std::optional<Error> failure = shared->failure(FakeCall::upload_later);
        if (failure) {
          version->promise.fail(*failure);
        } else {
          version->value = tensor.clone();
          version->promise.set();
        }
        free->set();
      });
  return buffer;
}

MemoryStats FakeClient::memory_stats(int device_id) const {
  const auto device = std::ranges::find(devices_, device_id, &Device::id);
  if (device == devices_.end()) {
    throw invalid_argument("fake: device, got {}, expected one of {}", device_id, devices_.size());
  }
  MemoryStats stats = shared_->memory->stats(device_id);
  stats.bytes_limit = device->memory_bytes;
  return stats;
}

void register_fake_backend() {
  Backend backend{.name = "fake", .options = {}, .make = [](const ClientOptions& options) {
                    ClientOptions inner = options;
                    inner.erase("inner");
                    inner.erase("max_delay_us");
                    return std::make_unique<FakeClient>(
                        client(option<std::string>(options, "inner"), inner),
                        FakeClientOptions{.max_delay_us = option<int64_t>(options, "max_delay_us"),
                                          .fail = nullptr});
                  }};
  const auto shared = host_client_options();
  backend.options.assign(shared.begin(), shared.end());
  backend.options.push_back({"inner", std::string("reference"), "the backend that computes"});
  backend.options.push_back({"max_delay_us", int64_t{50}, "the longest delay of work"});
  register_backend(std::move(backend));
}

}  // namespace systole::runtime::testing
