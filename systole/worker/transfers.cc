#include "systole/worker/transfers.h"

#include <cstring>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/mutex.h"

namespace systole::worker {
namespace {

// The most transfers of one session.
constexpr size_t kMaxTransfers = 4096;

Error no_transfer(uint64_t id) {
  return not_found("worker: transfer, got {}, expected one that was uploaded completely", id);
}

}  // namespace

std::shared_ptr<Transfer> Transfers::begin_upload(uint64_t id, const TensorType& type,
                                                  std::function<void()> cancel) {
  free(id);
  auto transfer = std::make_shared<Transfer>();
  transfer->charge = account_->charge(type.byte_size(), "upload");
  Array array = allocate(type);
  transfer->value = std::move(array.value);
  transfer->block = std::move(array.block);
  transfer->cancel = std::move(cancel);
  const MutexLock lock(mutex_);
  if (closed_) throw make_error(Code::cancelled, "worker: upload, got one of a closed session");
  if (transfers_.size() >= kMaxTransfers) {
    throw make_error(Code::resource_exhausted,
                     "worker: uploads and results that no operation has used, got more than {}",
                     kMaxTransfers);
  }
  transfers_[id] = transfer;
  return transfer;
}

void Transfers::finish_upload(uint64_t id, const std::shared_ptr<Transfer>& transfer) {
  const MutexLock lock(mutex_);
  const auto it = transfers_.find(id);
  if (it == transfers_.end() || it->second != transfer) return;
  transfer->complete = true;
  transfer->cancel = {};
}

void Transfers::drop_upload(uint64_t id, const std::shared_ptr<Transfer>& transfer) {
  const MutexLock lock(mutex_);
  transfer->cancel = {};
  const auto it = transfers_.find(id);
  if (it != transfers_.end() && it->second == transfer) transfers_.erase(it);
}

std::shared_ptr<Transfer> Transfers::take(uint64_t id) {
  const MutexLock lock(mutex_);
  const auto it = transfers_.find(id);
  if (it == transfers_.end() || !it->second->complete) throw no_transfer(id);
  auto transfer = std::move(it->second);
  transfers_.erase(it);
  return transfer;
}

Array Transfers::allocate(const TensorType& type) {
  if (own_ == nullptr) return {Tensor(type)};
  auto block = own_->allocate(type.byte_size());
  return {tensor_in(block, type), block};
}

void Transfers::add_result(uint64_t id, Array result) {
  auto transfer = std::make_shared<Transfer>();
  transfer->charge = account_->charge(result.value.byte_size(), "result");
  const bool in_block = result.block != nullptr && result.value.raw() == result.block->data();
  if (own_ != nullptr && !in_block) {  // a device may have put it elsewhere
    Array copy = allocate(result.value.type());
    std::memcpy(copy.value.raw(), result.value.raw(),
                static_cast<size_t>(result.value.byte_size()));
    result = std::move(copy);
  }
  transfer->value = std::move(result.value);
  transfer->block = std::move(result.block);
  transfer->complete = true;
  const MutexLock lock(mutex_);
  if (transfers_.size() >= kMaxTransfers) {
    throw make_error(Code::resource_exhausted, "worker: results that nobody has freed, got {}",
                     transfers_.size());
  }
  transfers_[id] = std::move(transfer);
  if (own_ != nullptr) new_results_.push_back(id);
}

MovedArray Transfers::move_out(uint64_t id, Transfer& transfer) {
  MovedArray moved = {.id = id,
                      .type = transfer.value.type(),
                      .place = transfer.block->hand_over(),
                      .charged = transfer.charge.give_up()};
  transfer.value = Tensor();
  return moved;
}

std::vector<MovedArray> Transfers::hand_over(const std::vector<uint64_t>& uploads) {
  std::vector<MovedArray> moved;
  const MutexLock lock(mutex_);
  for (const uint64_t id : uploads) {
    const auto it = transfers_.find(id);
    if (it == transfers_.end() || !it->second->complete) continue;
    moved.push_back(move_out(id, *it->second));
    transfers_.erase(it);
  }
  return moved;
}

std::vector<MovedArray> Transfers::hand_over_results() {
  std::vector<uint64_t> ids;
  {
    const MutexLock lock(mutex_);
    ids.swap(new_results_);
  }
  return hand_over(ids);
}

void Transfers::take_over(const MovedArray& array) {
  auto transfer = std::make_shared<Transfer>();
  transfer->charge = account_->take_over(array.charged);
  if (array.place.bytes < array.type.byte_size()) {
    throw make_error(Code::data_loss, "worker: shared array, got {} bytes, expected {}",
                     array.place.bytes, array.type.byte_size());
  }
  transfer->block = other_->take_over(array.place);
  transfer->value = tensor_in(transfer->block, array.type);
  transfer->complete = true;
  const MutexLock lock(mutex_);
  if (closed_) return;
  transfers_[array.id] = std::move(transfer);
}

void Transfers::trim() {
  if (own_ != nullptr) own_->trim();
}

std::shared_ptr<Transfer> Transfers::find(uint64_t id) {
  const MutexLock lock(mutex_);
  const auto it = transfers_.find(id);
  if (it == transfers_.end() || !it->second->complete) throw no_transfer(id);
  return it->second;
}

bool Transfers::free(uint64_t id) {
  std::shared_ptr<Transfer> dropped;
  std::function<void()> cancel;
  {
    const MutexLock lock(mutex_);
    const auto it = transfers_.find(id);
    if (it == transfers_.end()) return false;
    dropped = std::move(it->second);
    cancel = std::exchange(dropped->cancel, {});
    transfers_.erase(it);
    if (cancel) cancel();
  }
  return true;
}

void Transfers::close() {
  std::map<uint64_t, std::shared_ptr<Transfer>> dropped;
  const MutexLock lock(mutex_);
  closed_ = true;
  dropped.swap(transfers_);
  for (const auto& [id, transfer] : dropped) {
    if (transfer->cancel) std::exchange(transfer->cancel, {})();
  }
}

}  // namespace systole::worker
