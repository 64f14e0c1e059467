#include "systole/session/session.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <random>
#include <utility>

#include "systole/base/log.h"
#include "systole/base/mutex.h"
#include "systole/session/session_impl.h"
#include "systole/tracing/span.h"

namespace systole {
namespace {

template <class T>
using RunSmall = absl::InlinedVector<T, 8>;

}  // namespace

// Runs the device programs between host steps as runs of this session.
class Session::Impl::SessionRunner final : public DeviceRunner {
 public:
  explicit SessionRunner(Impl& session) : session_(session) {}
  void run(const HostPlan::Step& step, std::span<const Tensor* const> fed,
           std::span<Tensor> fetched) override {
    RunSmall<FetchKey> keys;
    for (const Output& output : step.fetched) keys.push_back({output.node(), output.index()});
    for (Node* target : step.targets) keys.push_back({target, -1});
    RunSmall<Tensor> values(keys.size());
    session_.execute(keys, {step.fed, fed, true}, {values.data(), values.size()});
    std::move(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(fetched.size()),
              fetched.begin());
  }

 private:
  Impl& session_;
};

FetchKey Fetch::in(const Graph& graph) const {
  if (!name_.empty()) {
    if (name_.find(':') == std::string_view::npos) {
      if (Node* node = graph.find_node(name_)) return {node, -1};
    }
    const Output output = graph.tensor(name_);
    return {output.node(), output.index()};
  }
  if (operation_ != nullptr) return {operation_, -1};
  if (!output_.valid()) throw invalid_argument("Session.run: a fetch is an empty handle");
  // The output of an op without outputs means the op itself.
  if (output_.node()->num_outputs() == 0) return {output_.node(), -1};
  return {output_.node(), output_.index()};
}

void Session::Impl::run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds,
                        std::span<Tensor> fetched) {
  RunSmall<FetchKey> keys;
  for (const Fetch& fetch : fetches) keys.push_back(fetch.in(graph));
  RunSmall<Output> feed_keys;
  RunSmall<const Tensor*> feed_values;
  std::vector<FeedItem> by_name;
  for (const FeedItem& feed : feeds) {
    if (feed.named != nullptr) by_name.push_back(feed.in(graph));
  }
  auto next = by_name.begin();
  for (const FeedItem& feed : feeds) {
    const FeedItem& item = feed.named == nullptr ? feed : *next++;
    feed_keys.push_back(item.key);
    feed_values.push_back(&item.value);
  }
  execute(keys, {feed_keys, feed_values}, fetched);
}

// Warns once that a plain graph leaves TPU cores idle. Ignores runs without feeds, fetched values
// and variable reads, such as initialisation: they have no work to split.
void Session::Impl::note_idle_cores(const Program& program) {
  if (!target.environment.is_tpu || target.environment.num_cores == 1) return;
  const ProgramKey& key = program.key();
  const bool gives_values = !std::ranges::all_of(key.fetches, &FetchKey::is_operation);
  if (key.feeds.empty() && !gives_values && !program.reads_variables()) return;
  std::call_once(idle_cores_once, [&] {
    log_warning(
        "Session on target '{}': a plain graph runs on 1 of {} cores. To use all of them the batch "
        "must be split over replicas and the gradients averaged (CrossShardOptimizer)",
        target.name, target.environment.num_cores);
  });
}

void Session::Impl::check_graph(const Variable& variable) const {
  if (&variable.handle().node()->graph() == &graph) return;
  throw invalid_argument("Session: variable '{}' is not an element of this session's graph",
                         variable.name());
}

void Session::Impl::check_value(const Variable& variable, const Tensor& value) const {
  check_graph(variable);
  if (value.type() == variable.type()) return;
  throw invalid_argument("Session.set_variable: value for '{}', got {}, expected {}",
                         variable.name(), value.type(), variable.type());
}

void Session::Impl::check_cores(int num_replicas) const {
  const HostEnvironment& system = target.environment;
  if (!system.is_tpu || num_replicas <= system.num_cores) return;
  throw invalid_argument(
      "Session on target '{}': replicas, got {}, expected at most {}, one a core", target.name,
      num_replicas, system.num_cores);
}

void Session::Impl::execute(std::span<const FetchKey> fetches, const FeedValues& feeds,
                            std::span<Tensor> fetched) {
  const Program& program = cache.find_or_compile(fetches, feeds);
  if (program.host_plan() != nullptr) return execute_with_host(program, feeds, fetched);
  execute(program, feeds, fetched);
}

void Session::Impl::execute(const Program& program, const FeedValues& feeds,
                            std::span<Tensor> fetched) {
  runs.fetch_add(1, std::memory_order_relaxed);
  if (program.num_replicas() > 1) {
    check_cores(program.num_replicas());
  } else {
    note_idle_cores(program);
  }
  if (program.exclusive()) {
    const WriterLock lock(run_mutex);
    check_open();
    program.run(feeds, fetched);
  } else {
    const ReaderLock lock(run_mutex);
    check_open();
    program.run(feeds, fetched);
  }
}

void Session::Impl::execute_with_host(const Program& program, const FeedValues& feeds,
                                      std::span<Tensor> fetched) {
  {
    const ReaderLock lock(run_mutex);
    check_open();
  }
  SessionRunner runner(*this);
  run_host_plan(*program.host_plan(), feeds.values, target.environment, host_state, runner,
                fetched);
}

uint64_t Session::Impl::draw_entropy() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

Session::Session(std::string_view target, const SessionConfig& config)
    : impl_(std::make_unique<Impl>(target, config)) {}

Session::~Session() = default;

std::vector<Tensor> Session::run(std::span<const Fetch> fetches, std::span<const FeedItem> feeds) {
  std::vector<Tensor> fetched(fetches.size());
  impl_->run(fetches, feeds, fetched);
  return fetched;
}

Tensor Session::run(const Fetch& fetch, std::span<const FeedItem> feeds) {
  Tensor fetched;
  impl_->run({&fetch, 1}, feeds, {&fetched, 1});
  return fetched;
}

void Session::close() {
  const WriterLock lock(impl_->run_mutex);
  impl_->closed = true;
  impl_->state.clear();
}

Graph& Session::graph() const { return impl_->graph; }
const std::string& Session::target() const { return impl_->target.name; }

SessionStats Session::stats() const {
  const ProgramCache::Stats cached = impl_->cache.stats();
  return {.runs = impl_->runs.load(std::memory_order_relaxed),
          .programs = cached.programs,
          .compile_seconds = cached.compile_seconds};
}

Tensor Session::variable_value(const Variable& variable) {
  impl_->check_graph(variable);
  const ReaderLock lock(impl_->run_mutex);
  impl_->check_open();
  const VariableSlot& slot = impl_->state.slot(variable.handle().node());
  if (slot.buffer == nullptr) throw uninitialized_variable(*variable.handle().node());
  const tracing::Span span("read a variable", tracing::Kind::transfer);
  return slot.buffer->to_host();
}

void Session::set_variable(const Variable& variable, const Tensor& value) {
  impl_->check_value(variable, value);
  const tracing::Span span("set a variable", tracing::Kind::transfer);
  auto buffer = impl_->target.client->buffer_from_host(value);
  const WriterLock lock(impl_->run_mutex);
  impl_->check_open();
  impl_->state.slot(variable.handle().node()).set(std::move(buffer));
}

bool Session::is_initialized(const Variable& variable) {
  impl_->check_graph(variable);
  const ReaderLock lock(impl_->run_mutex);
  impl_->check_open();
  return impl_->state.slot(variable.handle().node()).buffer != nullptr;
}

struct Session::Callable::State {
  Session::Impl* session;
  std::vector<FetchKey> fetches;
  std::vector<Output> feed_list;
  std::vector<const Tensor*> values;
  std::vector<Tensor> results;
  const Program* program = nullptr;  // the last used
};

Session::Callable::Callable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Callable::Callable(Callable&&) noexcept = default;
Session::Callable& Session::Callable::operator=(Callable&&) noexcept = default;
Session::Callable::~Callable() = default;

std::span<const Tensor> Session::Callable::operator()(std::span<const Tensor> arguments) {
  State& s = *state_;
  if (arguments.size() != s.feed_list.size()) {
    throw invalid_argument("Session.Callable: number of arguments, got {}, expected {}",
                           arguments.size(), s.feed_list.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) s.values[i] = &arguments[i];
  // Results of the last call may be arguments of this one: they are not overwritten.
  const bool reads_results = std::ranges::any_of(s.values, [&](const Tensor* value) {
    return value >= s.results.data() && value < s.results.data() + s.results.size();
  });
  std::vector<Tensor> last_results;
  if (reads_results) last_results = std::exchange(s.results, std::vector<Tensor>(s.fetches.size()));
  const FeedValues feeds{s.feed_list, s.values};
  if (s.program == nullptr || !s.program->matches(s.fetches, feeds)) {
    s.program = &s.session->cache.find_or_compile(s.fetches, feeds);
  }
  if (s.program->host_plan() != nullptr) {
    s.session->execute_with_host(*s.program, feeds, s.results);
  } else {
    s.session->execute(*s.program, feeds, s.results);
  }
  return s.results;
}

Session::Callable Session::make_callable(const std::vector<Fetch>& fetches,
                                         std::vector<Output> feed_list) {
  auto state = std::make_unique<Callable::State>();
  state->session = impl_.get();
  for (const Fetch& fetch : fetches) state->fetches.push_back(fetch.in(impl_->graph));
  state->values.resize(feed_list.size());
  state->results.resize(fetches.size());
  state->feed_list = std::move(feed_list);
  return Callable(std::move(state));
}

}  // namespace systole
