#include "systole/backends/cpu/kernels/lapack.h"

#include <charconv>
#include <cstring>
#include <optional>

#include "systole/backends/cpu/kernels/lapack_routines.h"
#include "systole/base/error.h"
#include "systole/base/lapack.h"

namespace systole::cpu {
namespace {

// The parts of "lapack_dpotrf_ffi".
struct LapackTarget {
  const LapackRoutine* routine;
  DType dtype;
};

std::optional<LapackTarget> parse_lapack_target(std::string_view target) {
  constexpr std::string_view kPrefix = "lapack_";
  constexpr std::string_view kSuffix = "_ffi";
  if (!target.starts_with(kPrefix) || !target.ends_with(kSuffix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  target.remove_suffix(std::min(target.size(), kSuffix.size()));
  constexpr std::string_view kLetters = "sdcz";
  constexpr DType kTypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};
  const size_t letter = target.empty() ? std::string_view::npos : kLetters.find(target[0]);
  if (letter == std::string_view::npos) return std::nullopt;
  const LapackRoutine* const routine = find_lapack_routine(target.substr(1), kTypes[letter]);
  if (routine == nullptr) return std::nullopt;
  return LapackTarget{routine, kTypes[letter]};
}

// Reads "{uplo = 76 : ui8, low = 1 : i32, left = true}".
std::map<std::string, int> parse_settings(std::string_view text) {
  std::map<std::string, int> settings;
  constexpr std::string_view kSpace = " \n\t{},";
  while (true) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kSpace)));
    if (text.empty()) return settings;
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(entry.size());
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, entry.find_first_of(" ="));
    const std::string_view value = entry.substr(entry.find_first_not_of(' ', equals + 1));
    if (value.starts_with("true") || value.starts_with("false")) {
      settings[std::string(name)] = value.starts_with("true") ? 1 : 0;
      continue;
    }
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc()) settings[std::string(name)] = number;
  }
}

int axis_size(const hlo::Instruction& x, int operand, int from_end) {
  const Shape& shape = x.operand(operand).shape();
  return shape.rank() < from_end ? 1 : static_cast<int>(shape[shape.rank() - from_end]);
}

Dims batch_of(const Shape& shape, int axes) {
  return {shape.dims().begin(), shape.dims().end() - axes};
}

class LapackKernel : public Kernel {
 public:
  explicit LapackKernel(const hlo::Instruction& x) {
    const auto& attrs = x.attrs<hlo::CustomCallAttrs>();
    const LapackTarget target = *parse_lapack_target(attrs.call_target_name);
    routine_ = target.routine;
    problem_.target = attrs.call_target_name;
    problem_.routine = routine_->name;
    problem_.dtype = target.dtype;
    problem_.settings = parse_settings(attrs.settings());
    check_operands(x);
    const int last = x.num_operands() - 1;
    problem_.rows = axis_size(x, 0, 2);
    problem_.columns = axis_size(x, 0, 1);
    problem_.right_rows = axis_size(x, last, 2);
    problem_.right_columns = axis_size(x, last, 1);
    if (routine_->square && problem_.rows != problem_.columns) {
      throw invalid_argument("custom_call '{}': matrices of {} x {}, expected square ones",
                             problem_.target, problem_.rows, problem_.columns);
    }
    check_results(x);
    load_lapack(problem_.target);
  }

  void run(std::span<void* const> buffers, RunContext&) const override {
    const size_t count = operand_bytes_.size();
    std::vector<std::vector<std::byte>> copies;
    for (size_t i = 0; i < count; ++i) {
      const auto* const from = static_cast<const std::byte*>(buffers[i]);
      copies.emplace_back(from, from + operand_bytes_[i] * static_cast<size_t>(batch_size_));
    }
    std::vector<std::byte*> in(count);
    std::vector<std::byte*> out(result_bytes_.size());
    for (size_t item = 0; item < static_cast<size_t>(batch_size_); ++item) {
      for (size_t i = 0; i < count; ++i) in[i] = copies[i].data() + item * operand_bytes_[i];
      for (size_t k = 0; k < out.size(); ++k) {
        out[k] = static_cast<std::byte*>(buffers[count + k]) + item * result_bytes_[k];
        std::memset(out[k], 0, result_bytes_[k]);
      }
      if (!empty_) routine_->call(problem_, {in, out});
    }
  }

 private:
  void check_operands(const hlo::Instruction& x) {
    const std::string_view axes = routine_->operand_axes;
    if (static_cast<size_t>(x.num_operands()) != axes.size()) {
      throw invalid_argument("custom_call '{}': operands, got {}, expected {}", problem_.target,
                             x.num_operands(), axes.size());
    }
    for (int i = 0; i < x.num_operands(); ++i) {
      const TensorType& type = x.operand(i).type();
      const int own = axes[i] - '0';
      if (type.dtype != problem_.dtype || type.shape.rank() < own) {
        throw invalid_argument(
            "custom_call '{}': operand {}, got {}, expected {} of rank {} or more", problem_.target,
            i, type, problem_.dtype, own);
      }
      const Dims batch = batch_of(type.shape, own);
      problem_.operands.emplace_back(Dims(type.shape.dims().end() - own, type.shape.dims().end()));
      if (i == 0) batch_ = batch;
      if (batch != batch_) {
        throw invalid_argument(
            "custom_call '{}': operand {}, got {}, expected the batch of operand 0",
            problem_.target, i, type);
      }
      if (type.shape.num_elements() == 0) empty_ = true;
      operand_bytes_.push_back(static_cast<size_t>(type.byte_size()));
    }
    batch_size_ = Shape(batch_).num_elements();
    for (size_t& bytes : operand_bytes_)
      bytes /= static_cast<size_t>(std::max<int64_t>(batch_size_, 1));
  }

  void check_results(const hlo::Instruction& x) {
    for (const TensorType& result : x.results()) problem_.wanted.push_back(result.shape);
    const std::vector<TensorType> own = routine_->results(problem_);
    if (static_cast<size_t>(x.num_results()) != own.size()) {
      throw invalid_argument("custom_call '{}': results, got {}, expected {}", problem_.target,
                             x.num_results(), own.size());
    }
    for (size_t k = 0; k < own.size(); ++k) {
      TensorType expected = own[k];
      result_bytes_.push_back(static_cast<size_t>(expected.byte_size()));
      Dims dims = batch_;
      dims.insert(dims.end(), own[k].shape.begin(), own[k].shape.end());
      expected.shape = Shape(std::move(dims));
      if (x.results()[k] == expected) continue;
      throw invalid_argument("custom_call '{}': result {}, got {}, expected {}", problem_.target, k,
                             x.results()[k], expected);
    }
  }

  const LapackRoutine* routine_ = nullptr;
  LapackProblem problem_;
  Dims batch_;
  int64_t batch_size_ = 1;
  bool empty_ = false;
  std::vector<size_t> operand_bytes_;  // of one matrix, by operand
  std::vector<size_t> result_bytes_;
};

}  // namespace

bool is_lapack_call(const hlo::Instruction& x) {
  const auto* const attrs = std::get_if<hlo::CustomCallAttrs>(&x.attrs());
  return attrs != nullptr && parse_lapack_target(attrs->call_target_name).has_value();
}

std::unique_ptr<Kernel> make_lapack_kernel(const hlo::Instruction& x) {
  return std::make_unique<LapackKernel>(x);
}

}  // namespace systole::cpu
