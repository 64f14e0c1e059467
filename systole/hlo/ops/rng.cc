#include <algorithm>

#include "systole/base/convert.h"
#include "systole/base/error.h"
#include "systole/base/random.h"
#include "systole/hlo/passes/partition/rules.h"
#include "systole/hlo/semantics/checks.h"
#include "systole/hlo/semantics/evaluator.h"

namespace systole::hlo::ops {
namespace {

// C3: a constant `shape` must hold the result's sizes. Other shapes are known only at run time and
// are not compared: the result's type is static.
void check_shape_value(const InferContext& context, const Shape& result) {
  const Instruction& shape = *context.operands[2].def;
  if (!shape.is(Opcode::constant)) return;
  const Tensor sizes = shape.attrs<ConstantAttrs>().value.cast(DType::s64);
  if (std::ranges::equal(sizes.data<int64_t>(), result.dims())) return;
  throw invalid_argument("rng: shape, got {} for a result of {}, expected equal",
                         to_string(sizes.data<int64_t>()), result);
}

std::vector<TensorType> infer_rng(const InferContext& context) {
  const TensorType& a = context.operand(0);
  const TensorType& b = context.operand(1);
  const TensorType& shape = context.operand(2);
  const TensorType& result = context.declared_type();
  check_scalar(context.opcode, "a", a);                                      // I1
  check_scalar(context.opcode, "b", b);                                      // I2
  check_dtype(context.opcode, "b", b.dtype, a.dtype);                        // C1
  check_dtype(context.opcode, "result", result.dtype, a.dtype);              // C1
  check_integer(context.opcode, "shape", shape);                             // I3
  check_shape(context.opcode, "shape", shape.shape, {result.shape.rank()});  // C3
  check_shape_value(context, result.shape);
  const bool is_normal = context.get<RngAttrs>().rng_distribution == RngDistribution::normal;
  if (is_complex(a.dtype) || (is_normal && !is_floating(a.dtype))) {  // C2
    throw invalid_argument("rng: element type, got {}, expected {}", a.dtype,
                           is_normal ? "floating-point" : "pred, integer or floating-point");
  }
  return {result};
}

// Draws an integer or a pred from [a, b).
int64_t uniform(RandomStream& random, int64_t a, int64_t b) {
  if (a >= b) return a;
  const uint64_t offset = random.next_below(static_cast<uint64_t>(b) - static_cast<uint64_t>(a));
  return static_cast<int64_t>(static_cast<uint64_t>(a) + offset);
}

// Draws a float from [a, b). Draws again if rounding to T gives b.
template <class T>
T uniform(RandomStream& random, double a, double b) {
  while (a < b) {
    const T value = convert_element<T>(a + random.next_uniform() * (b - a));
    if (static_cast<double>(value) < b) return value;
  }
  return convert_element<T>(a);
}

template <class T>
T draw(RandomStream& random, RngDistribution distribution, T a, T b) {
  if constexpr (convert_detail::is_complex_type<T>) {
    throw internal_error("rng: got a complex element type, expected one that passes inference");
  } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, float16> ||
                       std::is_same_v<T, bfloat16>) {
    const auto from = convert_element<double>(a);
    const auto to = convert_element<double>(b);
    return distribution == RngDistribution::normal
               ? convert_element<T>(from + to * random.next_normal())
               : uniform<T>(random, from, to);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return b <= a ? a : a + random.next_below(b - a);
  } else {
    return convert_element<T>(
        uniform(random, convert_element<int64_t>(a), convert_element<int64_t>(b)));
  }
}

// Each run on each process has its own stream.
std::vector<Tensor> evaluate_rng(const Instruction& instruction, std::span<const Tensor> operands,
                                 const Evaluator& evaluator) {
  Process& process = evaluator.process();
  RandomStream random(static_cast<uint64_t>(process.number()), process.next_random_run());
  const RngDistribution distribution = instruction.attrs<RngAttrs>().rng_distribution;
  Tensor result(instruction.type());
  visit_dtype(result.dtype(), [&]<class T>() {
    const T a = operands[0].item<T>();
    const T b = operands[1].item<T>();
    for (T& element : result.data<T>()) element = draw<T>(random, distribution, a, b);
  });
  return {result};
}

}  // namespace

extern const OpSemantics rng_semantics{
    .infer = infer_rng,
    .evaluate = evaluate_rng,
    .format = AssemblyFormat{"$*, distribution = <rng_distribution>", TypeForm::functional},
    .example =
        OpExample{
            .parameters = "%a: tensor<$T>, %b: tensor<$T>",
            .results = "tensor<4x$T>",
            .body =
                R"(%s = "stablehlo.constant"() {value = dense<4> : tensor<1xi64>} : () -> tensor<1xi64>
%r = "stablehlo.rng"(%a, %b, %s) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<$T>, tensor<$T>, tensor<1xi64>) -> tensor<4x$T>)"},
    .replicas = AcrossReplicas::apart,
    .shard = spmd::shard_rng};

}  // namespace systole::hlo::ops
