#include "systole/data/iterator.h"

#include <random>

#include "systole/data/nodes.h"

namespace systole {
namespace {

constexpr std::string_view kMagic = "SYDS2\n";

uint64_t draw_entropy() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

struct Iterator::Impl {
  Impl(Dataset described, const IteratorOptions& options)
      : dataset(std::move(described)),
        root(options, options.entropy ? *options.entropy : draw_entropy()) {}
  ~Impl() {
    root.cancellation().cancel();
    stage.reset();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Made when first asked for: until then restoring may still change what it draws from.
  data::Stage& running() {
    if (stage == nullptr) stage = data::make_stage(dataset.node(), {.root = &root});
    return *stage;
  }

  const Dataset dataset;
  data::IteratorRoot root;
  std::unique_ptr<data::Stage> stage;
  bool ended = false;
  Row row;
};

Iterator::Iterator(const Dataset& dataset, const IteratorOptions& options)
    : impl_((static_cast<void>(dataset.node()), std::make_unique<Impl>(dataset, options))) {}
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;
Iterator::~Iterator() = default;

bool Iterator::next_row(Row& row) {
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
  writer.bytes(kMagic);
  writer.bytes(element_spec().to_string());
  writer.number(impl_->root.entropy());
  writer.flag(impl_->ended);
  impl_->running().save(writer);
}

void Iterator::restore(StateReader& reader) {
  if (!impl_->root.options().keeps_errors) reader.leave_out_errors();
  reader.expect(kMagic);
  reader.expect(element_spec().to_string());
  auto fresh = std::make_unique<Impl>(impl_->dataset, impl_->root.options());
  fresh->root.set_entropy(reader.number());
  fresh->ended = reader.flag();
  fresh->running().restore(reader);
  impl_ = std::move(fresh);
}

std::string Iterator::save_state() {
  StateWriter writer;
  save(writer);
  return writer.take();
}

void Iterator::restore_state(std::string_view state) {
  StateReader reader(state);
  restore(reader);
  if (!reader.at_end()) {
    throw make_error(Code::data_loss, "iterator state: bytes after its end, expected none");
  }
}

void Iterator::cancel() { impl_->root.cancellation().cancel(); }

std::vector<StageStats> Iterator::stats() const { return impl_->root.stats(); }

const Nest<TensorType>& Iterator::element_spec() const { return impl_->dataset.element_spec(); }

}  // namespace systole
