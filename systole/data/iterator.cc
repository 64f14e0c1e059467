#include "systole/data/iterator.h"

#include <algorithm>
#include <random>

#include "systole/data/dataset.h"
#include "systole/data/nodes.h"
#include "systole/io/wire/crc32c.h"

namespace systole {
namespace {

constexpr std::string_view kMagic = "SYDS4\n";

// The size of the checksum that ends a state.
std::string checksum_of(std::string_view state) {
  const uint32_t sum = crc32c(state);
  return {reinterpret_cast<const char*>(&sum), sizeof(sum)};
}

uint64_t draw_entropy() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

std::vector<TensorType> types_of_outputs(const std::vector<Output>& outputs) {
  std::vector<TensorType> types;
  types.reserve(outputs.size());
  for (const Output& output : outputs) types.push_back(output.type());
  return types;
}

void check_saved(const Components& values, const std::vector<Output>& parameters) {
  try {
    data::check_row("parameters", values, types_of_outputs(parameters));
  } catch (const Error& error) {
    throw failed_precondition("iterator state: of another pipeline: {}", error.message());
  }
}

}  // namespace

struct Iterator::Impl {
  // `values` are those of `outputs`, the parameters of the data set.
  Impl(Dataset described, const IteratorOptions& options, std::vector<Output> outputs = {},
       const Components& values = {})
      : dataset(std::move(described)),
        parameters(std::move(outputs)),
        root(options, options.entropy ? *options.entropy : draw_entropy(),
             named(parameters, values)) {}
  ~Impl() {
    root.cancellation().cancel();
    stage.reset();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Created by the first call, because a restore before it may change the random state.
  data::Stage& running() {
    if (stage == nullptr)
      stage = data::make_stage(dataset.node(), {.root = &root, .shared = &root.shared()});
    return *stage;
  }

  static data::IteratorRoot::Parameters named(const std::vector<Output>& outputs,
                                              const Components& values) {
    data::IteratorRoot::Parameters result;
    for (size_t i = 0; i < values.size(); ++i) result.emplace(outputs[i], values[i]);
    return result;
  }
  Components values() const {
    Components result;
    for (const Output& output : parameters) result.push_back(root.value_of(output));
    return result;
  }

  const Dataset dataset;
  const std::vector<Output> parameters;
  data::IteratorRoot root;
  std::unique_ptr<data::Stage> stage;
  bool ended = false;
  Components row;
};

Iterator::Iterator(const Dataset& dataset, const IteratorOptions& options)
    : impl_((data::check_no_parameters("Iterator", dataset.parameters()),
             std::make_unique<Impl>(dataset, options))) {}

Iterator::Iterator(const Dataset& dataset, const IteratorOptions& options,
                   const Components& parameters) {
  std::vector<Output> outputs = dataset.parameters();
  data::check_row("Iterator: parameters", parameters, types_of_outputs(outputs));
  impl_ = std::make_unique<Impl>(dataset, options, std::move(outputs), parameters);
  data::each_node(*dataset.node(), [&](const data::DatasetNode& node) { node.start(impl_->root); });
}

Iterator::Iterator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Iterator Iterator::restored(const Dataset& dataset, const IteratorOptions& options,
                            std::string_view state) {
  Iterator result(std::make_unique<Impl>(dataset, options, dataset.parameters()));
  result.restore_state(state);
  return result;
}

Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;
Iterator::~Iterator() = default;

bool Iterator::next_row(Components& row) {
  impl_->root.cancellation().check();
  if (impl_->ended) return false;
  impl_->ended = !impl_->running().next_into(row);
  return !impl_->ended;
}

std::optional<Nest<Tensor>> Iterator::next() {
  if (!next_row(impl_->row)) return std::nullopt;
  return data::to_element(element_spec(), std::exchange(impl_->row, {}));
}

void Iterator::save(StateWriter& writer) {
  impl_->root.cancellation().check();
  writer.bytes(kMagic);
  writer.bytes(element_spec().to_string());
  writer.number(impl_->root.entropy());
  writer.row(impl_->values());
  writer.flag(impl_->ended);
  impl_->running().save(writer);
  data::each_node(*impl_->dataset.node(), [&](const data::DatasetNode& node) {
    node.save_left(impl_->root.shared(), writer);
  });
}

void Iterator::restore(StateReader& reader) {
  if (!impl_->root.options().keeps_errors) reader.leave_out_errors();
  reader.expect(kMagic);
  reader.expect(element_spec().to_string());
  const uint64_t entropy = reader.number();
  const Components parameters = reader.row();
  check_saved(parameters, impl_->parameters);
  auto fresh =
      std::make_unique<Impl>(impl_->dataset, impl_->root.options(), impl_->parameters, parameters);
  fresh->root.set_entropy(entropy);
  fresh->ended = reader.flag();
  fresh->running().restore(reader);
  data::each_node(*fresh->dataset.node(), [&](const data::DatasetNode& node) {
    node.restore_left(fresh->root.shared(), reader);
  });
  impl_ = std::move(fresh);
}

std::string Iterator::save_state() {
  StateWriter writer;
  save(writer);
  const std::string sum = checksum_of(writer.data());
  return writer.take() + sum;
}

void Iterator::restore_state(std::string_view state) {
  const size_t size = state.size() - std::min(state.size(), sizeof(uint32_t));
  if (!state.ends_with(checksum_of(state.substr(0, size)))) {
    throw make_error(Code::data_loss,
                     "iterator state: checksum, got another one than that of its {} bytes", size);
  }
  StateReader reader(state.substr(0, size));
  restore(reader);
  reader.expect_end();
}

void Iterator::cancel() { impl_->root.cancellation().cancel(); }

std::vector<StageStats> Iterator::stats() const { return impl_->root.stats(); }

const Nest<TensorType>& Iterator::element_spec() const { return impl_->dataset.element_spec(); }

}  // namespace systole
