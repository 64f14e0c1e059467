#include "apps/systole/hlo/arguments.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/base/random.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/tables/npy.h"
#include "systole/runtime/memory.h"

namespace systole::app {
namespace {

// Larger tensors are abbreviated.
constexpr int64_t kShownWhole = 200;
// The elements shown at either end of a long axis.
constexpr int64_t kEdge = 3;

std::string parameter_name(const hlo::Computation& main, int i) {
  const std::string& name = main.parameter(i).def->metadata().name;
  return name.empty() ? fmt::format("%arg{}", i) : name;
}

// Returns the number before the '=' of "0=x.npy".
int written_number(const std::string& input) {
  const size_t equals = input.find('=');
  int number = -1;
  const char* end = input.data() + std::min(equals, input.size());
  const auto [stop, error] = std::from_chars(input.data(), end, number);
  if (equals == std::string::npos || error != std::errc() || stop != end)
    throw invalid_argument("--input: got '{}', expected NUMBER=FILE.npy", input);
  return number;
}

int parameter_number(const hlo::Computation& main, const std::string& input) {
  const int number = written_number(input);
  if (number < 0 || number >= main.num_parameters()) {
    throw invalid_argument("--input {}: parameter, got {}, expected 0 to {}", input, number,
                           main.num_parameters() - 1);
  }
  return number;
}

[[noreturn]] void throw_missing(const hlo::Computation& main, const std::vector<Tensor>& given) {
  std::string missing;
  for (int i = 0; i < main.num_parameters(); ++i) {
    if (given[i].valid() || main.parameter(i).dtype() == DType::token) continue;
    missing += fmt::format("\n  {}  {}  {}", i, parameter_name(main, i), main.parameter(i).type());
  }
  throw invalid_argument(
      "inputs: got none for these parameters, expected --input NUMBER=FILE.npy for each, or "
      "--random SEED{}",
      missing);
}

// The elements of one axis, and below it of the others.
class Readable {
 public:
  explicit Readable(const Tensor& tensor)
      : tensor_(tensor), elide_(tensor.num_elements() > kShownWhole) {}

  std::string text() {
    text_ = tensor_.type().to_string() + (tensor_.rank() > 1 ? "\n" : " ");
    if (tensor_.num_elements() == 0) return text_ + "{}";
    print(0, 0);
    return text_;
  }

 private:
  void print(int axis, int64_t offset) {
    if (axis == tensor_.rank()) {
      // Tensor's format of one element, without its type.
      const std::string one = tensor_.reshape({tensor_.num_elements()})
                                  .slice(offset, offset + 1)
                                  .reshape({})
                                  .to_string();
      text_ += one.substr(one.find(' ') + 1);
      return;
    }
    int64_t below = 1;
    for (int d = axis + 1; d < tensor_.rank(); ++d) below *= tensor_.dim(d);
    const int64_t size = tensor_.dim(axis);
    text_ += '{';
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) text_ += separator(axis);
      if (elide_ && size > 2 * kEdge + 1 && i == kEdge) {
        text_ += "..." + separator(axis);
        i = size - kEdge;
      }
      print(axis + 1, (offset + i * below));
    }
    text_ += '}';
  }

  // Each row after the first starts a line.
  std::string separator(int axis) const {
    const bool row = axis + 1 < tensor_.rank();
    return row ? ",\n" + std::string(static_cast<size_t>(axis) + 1, ' ') : ", ";
  }

  const Tensor& tensor_;
  bool elide_;
  std::string text_;
};

// Checks the memory of arguments and results before allocating them; the backend checks the rest.
void check_memory(const hlo::Module& module) {
  const hlo::Computation& main = module.entry();
  runtime::ExecutableStats stats;
  for (int i = 0; i < main.num_parameters(); ++i)
    add_bytes(stats.argument_bytes, main.parameter(i).type());
  for (const hlo::Value& result : main.results()) add_bytes(stats.result_bytes, result.type());
  runtime::check_memory("host", module, stats, runtime::host_memory_bytes());
}

}  // namespace

void add_bytes(int64_t& sum, const TensorType& type) {
  if (__builtin_add_overflow(sum, type.byte_size(), &sum))
    sum = std::numeric_limits<int64_t>::max();
}

Tensor random_argument(const TensorType& type, uint64_t seed, uint64_t number) {
  if (is_small_float(type.dtype)) {
    return random_argument({DType::f32, type.shape}, seed, number).cast(type.dtype);
  }
  RandomStream random(seed, number);
  Tensor result(type);
  visit_dtype(type.dtype, [&]<class T>() {
    for (T& element : result.data<T>()) {
      if constexpr (std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>) {
        using Part = typename T::value_type;
        const auto part = [&] { return static_cast<Part>(2 * random.next_uniform() - 1); };
        const Part real = part();
        element = T(real, part());
      } else if (is_floating(type.dtype)) {
        element = convert_element<T>(2 * random.next_uniform() - 1);
      } else {
        const auto whole = random.next_below(type.dtype == DType::pred ? 2 : 8);
        element = convert_element<T>(static_cast<int64_t>(whole));
      }
    }
  });
  return result;
}

std::vector<Tensor> random_arguments(const hlo::Module& module, uint64_t seed) {
  return read_arguments(module, {}, seed);
}

void check_inputs(const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) written_number(input);
}

std::vector<Tensor> read_arguments(const hlo::Module& module,
                                   const std::vector<std::string>& inputs,
                                   const std::optional<uint64_t>& seed) {
  check_memory(module);
  const hlo::Computation& main = module.entry();
  std::vector<Tensor> arguments(static_cast<size_t>(main.num_parameters()));
  for (const std::string& input : inputs) {
    const int number = parameter_number(main, input);
    Tensor& argument = arguments[number];
    if (argument.valid())
      throw invalid_argument("--input {}: parameter, got {} a second time", input, number);
    argument = read_npy(default_file_system(), input.substr(input.find('=') + 1));
    const TensorType wanted = main.parameter(number).type().storage();
    argument = narrowed(argument, wanted, fmt::format("--input {}", input));
    if (argument.type() != wanted) {
      throw invalid_argument("--input {}: type, got {}, expected {} for parameter {} ({})", input,
                             argument.type(), wanted, number, parameter_name(main, number));
    }
  }
  for (int i = 0; i < main.num_parameters(); ++i) {
    Tensor& argument = arguments[i];
    if (main.parameter(i).dtype() == DType::token) argument = Tensor(main.parameter(i).type());
    if (argument.valid()) continue;
    if (!seed) throw_missing(main, arguments);
    argument = random_argument(main.parameter(i).type(), *seed, static_cast<uint64_t>(i));
  }
  return arguments;
}

Tensor widened(const Tensor& tensor) {
  if (is_small_float(tensor.dtype())) return tensor.cast(DType::f32);
  const DTypeInfo& info = dtype_info(tensor.dtype());
  if (!info.integer || info.bits >= 8) return tensor;
  return tensor.cast(info.is_signed ? DType::s8 : DType::u8);
}

Tensor narrowed(const Tensor& tensor, const TensorType& wanted, std::string_view what) {
  const TensorType stored = widened(Tensor(wanted)).type();
  if (stored == wanted || stored != tensor.type()) return tensor;
  Tensor narrow = tensor.cast(wanted.dtype);
  if (!narrow.cast(tensor.dtype()).identical(tensor)) {
    throw invalid_argument("{}: elements, got some that it does not have, expected {}", what,
                           wanted);
  }
  return narrow;
}

std::string readable(const Tensor& tensor) {
  if (tensor.dtype() == DType::token) return tensor.type().to_string();
  return Readable(tensor).text();
}

}  // namespace systole::app
