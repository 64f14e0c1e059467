#include "systole/data/state.h"

#include <algorithm>
#include <cstring>

#include "systole/base/log.h"
#include "systole/io/wire/varint.h"

namespace systole {

void StateWriter::number(uint64_t value) { append_varint64(data_, value); }

void StateWriter::bytes(std::string_view value) {
  number(value.size());
  data_.append(value);
}

void StateWriter::type(const TensorType& value) {
  bytes(dtype_info(value.dtype).tf_name);
  number(static_cast<uint64_t>(value.shape.rank()));
  for (const int64_t size : value.shape) number(static_cast<uint64_t>(size));
}

void StateWriter::tensor(const Tensor& value) {
  type(value.type());
  if (value.dtype() == DType::string) {
    for (const std::string& text : value.data<std::string>()) bytes(text);
  } else {
    data_.append(static_cast<const char*>(value.raw()), static_cast<size_t>(value.byte_size()));
  }
}

void StateWriter::row(const Components& value) {
  number(value.size());
  for (const Tensor& component : value) tensor(component);
}

void StateWriter::error(const Error& value) {
  number(static_cast<uint64_t>(value.code()));
  bytes(value.message());
}

void StateReader::malformed(std::string_view what) const {
  throw make_error(Code::data_loss, "iterator state: {} at byte {} of {}", what, next_,
                   data_.size());
}

std::string_view StateReader::take(size_t size) {
  if (size > data_.size() - next_) malformed("cut short");
  const std::string_view result = data_.substr(next_, size);
  next_ += size;
  return result;
}

uint64_t StateReader::number() {
  std::string_view rest = data_.substr(next_);
  const std::optional<uint64_t> value = read_varint64(rest);
  if (!value) malformed(rest.empty() ? "cut short" : "a number of more than 64 bits");
  next_ = data_.size() - rest.size();
  return *value;
}

size_t StateReader::count() {
  const uint64_t value = number();
  if (value > data_.size() - next_) malformed("a count beyond the end");
  return static_cast<size_t>(value);
}

std::string_view StateReader::bytes() {
  const uint64_t size = number();
  if (size > data_.size() - next_) malformed("a text beyond the end");
  return take(static_cast<size_t>(size));
}

DType StateReader::dtype() {
  const std::string_view name = bytes();
  try {
    return dtype_from_tf(name);
  } catch (const Error&) {
    malformed("a dtype that is none");
  }
}

TensorType StateReader::type() {
  const DType dtype = this->dtype();
  if (!is_numeric(dtype) && dtype != DType::string) malformed("a tensor without elements");
  Dims dims(count());
  for (int64_t& dim : dims) {
    dim = static_cast<int64_t>(number());
    if (dim < 0) malformed("a dimension below 0");
  }
  return {dtype, Shape(std::move(dims))};
}

Tensor StateReader::tensor() {
  const TensorType type = this->type();
  const bool text = type.dtype == DType::string;
  // The least number of bytes that the elements take; an empty string still has its length.
  uint64_t left = (data_.size() - next_) / static_cast<uint64_t>(text ? 1 : size_of(type.dtype));
  const bool empty = std::ranges::find(type.shape, 0) != type.shape.end();
  for (const int64_t dim : type.shape) left /= empty ? 1 : static_cast<uint64_t>(dim);
  if (left == 0 && !empty) malformed("a tensor beyond the end");
  Tensor result(type.dtype, type.shape);
  if (text) {
    for (std::string& text : result.data<std::string>()) text = bytes();
  } else {
    const auto size = static_cast<size_t>(result.byte_size());
    std::memcpy(result.raw(), take(size).data(), size);
  }
  return result;
}

Components StateReader::row() {
  Components result(count());
  for (Tensor& component : result) component = tensor();
  return result;
}

std::optional<Error> StateReader::error_ahead(std::string_view who) {
  const uint64_t code = number();
  if (code < static_cast<uint64_t>(Code::cancelled) ||
      code > static_cast<uint64_t>(Code::unauthenticated)) {
    malformed("an error of no known code");
  }
  const std::string_view message = bytes();
  if (keeps_errors_) return Error(static_cast<Code>(code), std::string(message));
  log_warning("{}: the element that failed before the checkpoint is left out: {}", who, message);
  return std::nullopt;
}

void StateReader::expect_end() const {
  if (next_ != data_.size()) malformed("bytes after its end");
}

void StateReader::expect(std::string_view name) {
  const std::string_view got = bytes();
  if (got != name) {
    throw failed_precondition(
        "iterator state: stage, got '{}', expected '{}': it was saved by another pipeline", got,
        name);
  }
}

}  // namespace systole
