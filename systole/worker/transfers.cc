#include "systole/worker/transfers.h"

#include <utility>
#include <vector>

#include "systole/base/error.h"

namespace systole::worker {
namespace {

Error no_transfer(uint64_t id) {
  return not_found("worker: transfer, got {}, expected one that was uploaded completely", id);
}

}  // namespace

std::shared_ptr<Transfer> Transfers::begin_upload(uint64_t id, const TensorType& type,
                                                  std::function<void()> cancel) {
  free(id);
  auto transfer = std::make_shared<Transfer>();
  transfer->charge = account_.charge(type.byte_size(), "upload");
  transfer->value = Tensor(type);
  transfer->cancel = std::move(cancel);
  const std::lock_guard lock(mutex_);
  if (closed_) throw make_error(Code::cancelled, "worker: upload, got one of a closed session");
  transfers_[id] = transfer;
  return transfer;
}

void Transfers::finish_upload(uint64_t id, const std::shared_ptr<Transfer>& transfer) {
  const std::lock_guard lock(mutex_);
  const auto it = transfers_.find(id);
  if (it == transfers_.end() || it->second != transfer) return;
  transfer->complete = true;
  transfer->cancel = {};
}

void Transfers::drop_upload(uint64_t id, const std::shared_ptr<Transfer>& transfer) {
  const std::lock_guard lock(mutex_);
  transfer->cancel = {};
  const auto it = transfers_.find(id);
  if (it != transfers_.end() && it->second == transfer) transfers_.erase(it);
}

std::shared_ptr<Transfer> Transfers::take(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = transfers_.find(id);
  if (it == transfers_.end() || !it->second->complete) throw no_transfer(id);
  auto transfer = std::move(it->second);
  transfers_.erase(it);
  return transfer;
}

void Transfers::add_result(uint64_t id, Tensor value) {
  auto transfer = std::make_shared<Transfer>();
  transfer->charge = account_.charge(value.byte_size(), "result");
  transfer->value = std::move(value);
  transfer->complete = true;
  const std::lock_guard lock(mutex_);
  transfers_[id] = std::move(transfer);
}

std::shared_ptr<Transfer> Transfers::find(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = transfers_.find(id);
  if (it == transfers_.end() || !it->second->complete) throw no_transfer(id);
  return it->second;
}

bool Transfers::free(uint64_t id) {
  std::shared_ptr<Transfer> dropped;
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(transfers_);
  for (const auto& [id, transfer] : dropped) {
    if (transfer->cancel) std::exchange(transfer->cancel, {})();
  }
}

}  // namespace systole::worker
