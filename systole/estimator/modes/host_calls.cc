#include "systole/estimator/modes/host_calls.h"

#include "systole/tracing/span.h"
#include "systole/train/loop/hook_runner.h"

namespace systole::estimator {
namespace {

// [steps, replicas, batch, ...] -> [replicas * batch, ...] of one step, or replica 0 of it.
Tensor of_step(const Tensor& all, int64_t step, bool first_replica) {
  Dims dims(all.shape().begin() + 1, all.shape().end());
  Tensor replicas = all.slice(step, step + 1).reshape(Shape(dims));
  if (first_replica) replicas = replicas.slice(0, 1);
  dims[0] = replicas.dim(0);
  if (dims.size() > 1) {
    dims[1] *= dims[0];
    dims.erase(dims.begin());
  }
  return replicas.reshape(Shape(std::move(dims)));
}

// Returns the rows whose mask is not 0.
Tensor real_rows(const Tensor& rows, const Tensor& mask) {
  std::vector<int64_t> real;
  for (int64_t i = 0; i < mask.num_elements(); ++i) {
    if (mask.as_double(i) != 0) real.push_back(i);
  }
  return static_cast<int64_t>(real.size()) == mask.num_elements() ? rows
                                                                  : train::take_rows(rows, real);
}

}  // namespace

std::vector<Output> host_call_fetches(const HostCall& host_call, const Output& mask) {
  if (!host_call) return {};
  std::vector<Output> fetches = host_call.tensors;
  if (mask.valid()) fetches.push_back(mask);
  return fetches;
}

void run_host_calls(const HostCall& host_call, std::span<const Tensor> fetched,
                    const HostCallRun& run, train::Heartbeat& heartbeat) {
  if (!host_call) return;
  const size_t count = host_call.tensors.size();
  const bool masked = fetched.size() > count;
  const int64_t first_call = (run.every - run.in_loop % run.every) % run.every;
  for (int64_t step = first_call; step < run.steps; step += run.every) {
    std::vector<Tensor> values;
    values.reserve(count);
    for (const Tensor& all : fetched.first(count)) {
      values.push_back(of_step(all, step, run.first_replica));
      const bool by_example = masked && all.rank() > 2 && all.dim(2) == fetched[count].dim(2);
      if (!by_example) continue;
      values.back() = real_rows(values.back(), of_step(fetched[count], step, run.first_replica));
    }
    const int64_t first = run.first + step;
    const train::Heartbeat::Visit visit(heartbeat, "host_call", first, first + 1);
    const tracing::Span span("host_call", tracing::Kind::host, {"step", first});
    host_call.fn(values, first + 1);
  }
}

}  // namespace systole::estimator
