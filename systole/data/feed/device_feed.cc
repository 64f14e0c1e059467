#include "systole/data/feed/device_feed.h"

#include <algorithm>

#include "systole/data/feed/step_feed.h"
#include "systole/data/feed/step_stack.h"

namespace systole {
namespace {

data::StepSource source_of(const Dataset& dataset, const DeviceFeedOptions& options) {
  dataset.check_static("DeviceFeed");
  if (options.steps < 1 || options.replicas < 1) {
    throw invalid_argument("DeviceFeed: steps and replicas, got {} and {}, expected at least 1",
                           options.steps, options.replicas);
  }
  return {.datasets = {dataset},
          .layout = options.per_replica ? data::StepLayout::per_replica : data::StepLayout::split,
          .replicas = options.replicas,
          .batched = false,
          .name = "DeviceFeed"};
}

}  // namespace

struct DeviceFeed::Impl {
  Impl(const Dataset& dataset, const DeviceFeedOptions& how) : Impl(source_of(dataset, how), how) {}
  Impl(const data::StepSource& source, const DeviceFeedOptions& how)
      : options(how),
        spec(source.datasets.front().element_spec()),
        types(data::part_types(source, spec.flatten())),
        feed(source, {.max_steps = how.steps, .errors_first = true, .iterator = how.iterator}) {}

  // Steps of the stack behind the first `before` steps.
  int64_t steps_after(int64_t before) const {
    if (options.max_steps < 0) return options.steps;
    return std::clamp<int64_t>(options.max_steps - before, 0, options.steps);
  }

  const DeviceFeedOptions options;
  const ElementSpec spec;
  const std::vector<TensorType> types;  // per replica and step
  data::StepFeed feed;
  int64_t steps_given = 0;
};

DeviceFeed::DeviceFeed(const Dataset& dataset, const DeviceFeedOptions& options)
    : impl_(std::make_unique<Impl>(dataset, options)) {}
DeviceFeed::~DeviceFeed() = default;

DeviceFeed::Batch DeviceFeed::next() {
  Impl& impl = *impl_;
  const int64_t steps = impl.steps_after(impl.steps_given);
  if (steps == 0) return {};
  auto stacked = impl.feed.next(steps, impl.steps_after(impl.steps_given + steps));
  if (!stacked) return {};
  impl.steps_given += stacked->steps;
  return {.components = std::move(stacked->stacks),
          .steps_filled = stacked->steps,
          .waited_seconds = stacked->waited_seconds};
}

const std::vector<TensorType>& DeviceFeed::step_types() const { return impl_->types; }
const ElementSpec& DeviceFeed::element_spec() const { return impl_->spec; }

std::string DeviceFeed::save_state() {
  StateWriter writer;
  writer.bytes("DeviceFeed");
  writer.number(static_cast<uint64_t>(impl_->steps_given));
  writer.bytes(impl_->feed.save_state());
  return writer.take();
}

void DeviceFeed::restore_state(std::string_view state) {
  StateReader reader(state);
  reader.expect("DeviceFeed");
  const auto steps_given = static_cast<int64_t>(reader.number());
  const std::string_view feed = reader.bytes();
  reader.expect_end();
  impl_->feed.restore_state(feed);
  impl_->steps_given = steps_given;
}

FeedReport DeviceFeed::report() const { return impl_->feed.report(); }

}  // namespace systole
