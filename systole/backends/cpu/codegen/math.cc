#include "systole/backends/cpu/codegen/math.h"

#include <fmt/format.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "systole/backends/cpu/jit/jit.h"

namespace systole::cpu {
namespace {

using llvm::Intrinsic::ID;

// Float code in the words of arithmetic.
class FloatCode {
 public:
  explicit FloatCode(FunctionEmitter& f) : b(f.b) {}

  llvm::IRBuilder<>& b;

  llvm::Value* number(float x) { return llvm::ConstantFP::get(b.getFloatTy(), x); }
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {b.getFloatTy()}, {x, y, z});
  }
  llvm::Value* abs(llvm::Value* x) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  llvm::Value* bits(llvm::Value* x) { return b.CreateBitCast(x, b.getInt32Ty()); }
  llvm::Value* from_bits(llvm::Value* x) { return b.CreateBitCast(x, b.getFloatTy()); }
  // The polynomial with these coefficients, the highest first.
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<float> coefficients) {
    llvm::Value* sum = nullptr;
    for (const float c : coefficients) sum = sum == nullptr ? number(c) : fma(sum, x, number(c));
    return sum;
  }

  llvm::Value* exp(llvm::Value* x);
  llvm::Value* log(llvm::Value* x);
  llvm::Value* logistic(llvm::Value* x);
  llvm::Value* tanh(llvm::Value* x);

 private:
  // 2^n for integral n in [-126, 127].
  llvm::Value* power_of_two(llvm::Value* n) {
    return from_bits(b.CreateShl(b.CreateAdd(n, b.getInt32(127)), 23));
  }
};

// exp(x) = 2^n exp(r) with |r| <= ln(2) / 2, a minimax polynomial for exp(r), and 2^n in two
// factors so that results below the normal range come out right. 0.9 ULP.
llvm::Value* FloatCode::exp(llvm::Value* x) {
  // Beyond these bounds the result is 0 or infinity. Written so that NaN stays.
  llvm::Value* clamped = b.CreateSelect(b.CreateFCmpOGT(x, number(89.0F)), number(89.0F), x);
  clamped = b.CreateSelect(b.CreateFCmpOLT(clamped, number(-104.5F)), number(-104.5F), clamped);
  const float round = 12582912.0F;  // 1.5 * 2^23: what is added to it is rounded to an integer
  llvm::Value* shifted = fma(clamped, number(1.44269504F), number(round));
  llvm::Value* n = b.CreateFSub(shifted, number(round));
  llvm::Value* r = fma(n, number(-6.93145752e-1F), clamped);
  r = fma(n, number(-1.42860677e-6F), r);
  llvm::Value* p = polynomial(r, {1.37805939e-3F, 8.37312452e-3F, 4.16695364e-2F, 1.66664720e-1F,
                                  4.99999851e-1F, 1.0F, 1.0F});
  llvm::Value* exponent = b.CreateSub(bits(shifted), b.getInt32(0x4B400000));
  llvm::Value* half = b.CreateAShr(exponent, 1);
  p = b.CreateFMul(p, power_of_two(half));
  return b.CreateFMul(p, power_of_two(b.CreateSub(exponent, half)));
}

// log(x) = e ln(2) + log1p(m) with m in [-1/3, 1/3], after N. Juffa. 0.85 ULP.
llvm::Value* FloatCode::log(llvm::Value* x) {
  llvm::Value* tiny = b.CreateFCmpOLT(x, number(1.175494351e-38F));
  llvm::Value* a = b.CreateSelect(tiny, b.CreateFMul(x, number(8388608.0F)), x);
  llvm::Value* i = b.CreateSelect(tiny, number(-23.0F), number(0.0F));
  llvm::Value* e =
      b.CreateAnd(b.CreateSub(bits(a), b.getInt32(0x3f2aaaab)), b.getInt32(0xff800000));
  llvm::Value* m = b.CreateFSub(from_bits(b.CreateSub(bits(a), e)), number(1.0F));
  i = fma(b.CreateSIToFP(e, b.getFloatTy()), number(1.19209290e-7F), i);
  llvm::Value* s = b.CreateFMul(m, m);
  llvm::Value* r = polynomial(s, {-0.130310059F, -0.121483512F, -0.166846126F, -0.249996200F});
  llvm::Value* t = polynomial(s, {0.140869141F, 0.139814854F, 0.200120345F});
  r = fma(t, m, r);
  r = fma(r, m, number(0.333331972F));
  r = fma(r, m, number(-0.5F));
  r = fma(r, s, m);
  r = fma(i, number(0.693147182F), r);
  const float infinity = std::numeric_limits<float>::infinity();
  llvm::Value* usual =
      b.CreateAnd(b.CreateFCmpOGT(x, number(0.0F)), b.CreateFCmpOLT(x, number(infinity)));
  // +inf and NaN stay; zeros give -inf; what is negative gives NaN.
  llvm::Value* special =
      b.CreateSelect(b.CreateFCmpOLT(x, number(0.0F)), number(std::nanf("")), b.CreateFAdd(x, x));
  special = b.CreateSelect(b.CreateFCmpOEQ(x, number(0.0F)), number(-infinity), special);
  return b.CreateSelect(usual, r, special);
}

// 1 / (1 + exp(-x)), by exp of -|x|, which cannot overflow.
llvm::Value* FloatCode::logistic(llvm::Value* x) {
  llvm::Value* e = exp(b.CreateFNeg(abs(x)));
  llvm::Value* numerator = b.CreateSelect(b.CreateFCmpOLT(x, number(0.0F)), e, number(1.0F));
  return b.CreateFDiv(numerator, b.CreateFAdd(e, number(1.0F)));
}

// An odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) elsewhere, after Cephes.
llvm::Value* FloatCode::tanh(llvm::Value* x) {
  llvm::Value* magnitude = abs(x);
  llvm::Value* e = exp(b.CreateFAdd(magnitude, magnitude));
  llvm::Value* far =
      b.CreateFSub(number(1.0F), b.CreateFDiv(number(2.0F), b.CreateFAdd(e, number(1.0F))));
  llvm::Value* z = b.CreateFMul(x, x);
  llvm::Value* p = polynomial(z, {-5.70498872745e-3F, 2.06390887954e-2F, -5.37397155531e-2F,
                                  1.33314422036e-1F, -3.33332819422e-1F});
  llvm::Value* near = fma(b.CreateFMul(p, z), x, x);
  // Written so that NaN takes `near`, which keeps it, but not the sign of zero.
  llvm::Value* result = b.CreateSelect(b.CreateFCmpOGE(magnitude, number(0.625F)), far, near);
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
}

// SLEEF's name of a function without its type: "exp" + "f16_u10avx512f".
struct SleefRow {
  Math function;
  const char* name;
};
constexpr SleefRow kSleef[] = {
    {Math::atan2, "atan2"}, {Math::cbrt, "cbrt"}, {Math::cos, "cos"},     {Math::exp, "exp"},
    {Math::expm1, "expm1"}, {Math::log, "log"},   {Math::log1p, "log1p"}, {Math::pow, "pow"},
    {Math::sin, "sin"},     {Math::tan, "tan"},   {Math::tanh, "tanh"},
};

// One width in which SLEEF has the function, in the vector function ABI's and in SLEEF's words.
struct SleefWidth {
  char isa;
  int bits;
  const char* suffix;
};
constexpr SleefWidth kWidths[] = {{'e', 512, "avx512f"}, {'d', 256, "avx2"}, {'b', 128, "avx2128"}};

// The "finz" functions give the same bits in every width, and as the scalar purecfma ones.
llvm::FunctionCallee sleef_function(FunctionEmitter& f, const std::string& base, bool is_double,
                                    int operands) {
  llvm::LLVMContext& c = f.program.context();
  const HostTarget& target = f.program.target;
  llvm::Type* type = is_double ? llvm::Type::getDoubleTy(c) : llvm::Type::getFloatTy(c);
  const std::string letter = is_double ? "d" : "f";
  const std::string scalar = target.has_fma ? "Sleef_finz_" + base + letter + "1_u10purecfma"
                                            : "Sleef_cinz_" + base + letter + "1_u10purec";
  const std::vector<llvm::Type*> types(static_cast<size_t>(operands), type);
  auto callee =
      f.program.module.getOrInsertFunction(scalar, llvm::FunctionType::get(type, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  if (function->hasFnAttribute("vector-function-abi-variant")) return callee;
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->addFnAttr(llvm::Attribute::NoFree);
  function->addFnAttr(llvm::Attribute::NoSync);
  std::string variants;
  for (const SleefWidth& width : kWidths) {
    if (!target.has_fma || width.bits > target.vector_bits) continue;
    const int lanes = width.bits / (is_double ? 64 : 32);
    const std::string name =
        fmt::format("Sleef_finz_{}{}{}_u10{}", base, letter, lanes, width.suffix);
    llvm::Type* vector = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
    const std::vector<llvm::Type*> vectors(static_cast<size_t>(operands), vector);
    auto vector_callee =
        f.program.module.getOrInsertFunction(name, llvm::FunctionType::get(vector, vectors, false));
    auto* vector_function = llvm::cast<llvm::Function>(vector_callee.getCallee());
    vector_function->copyAttributesFrom(function);
    llvm::appendToCompilerUsed(f.program.module, {vector_function});
    variants += fmt::format("{}_ZGV{}N{}{}_{}({})", variants.empty() ? "" : ",", width.isa, lanes,
                            std::string(static_cast<size_t>(operands), 'v'), scalar, name);
  }
  function->addFnAttr("vector-function-abi-variant", variants);
  return callee;
}

llvm::Value* emit_sleef(FunctionEmitter& f, Math function, llvm::Value* x, llvm::Value* y) {
  for (const SleefRow& row : kSleef) {
    if (row.function != function) continue;
    const bool is_double = x->getType()->isDoubleTy();
    std::vector<llvm::Value*> operands = {x};
    if (y != nullptr) operands.push_back(y);
    auto callee = sleef_function(f, row.name, is_double, static_cast<int>(operands.size()));
    auto* call = f.b.CreateCall(callee, operands);
    // The vectoriser looks at the call.
    const auto variants = llvm::cast<llvm::Function>(callee.getCallee())
                              ->getFnAttribute("vector-function-abi-variant");
    call->addFnAttr(variants);
    return call;
  }
  return nullptr;
}

// f(x) = x + O(x^2), whose value for small x needs no function: there the intermediate values of
// SLEEF's are denormal, and are flushed; zeros lose their sign, and denormal numbers stay.
llvm::Value* near_identity(FunctionEmitter& f, llvm::Value* x, llvm::Value* result) {
  auto& b = f.b;
  const auto number = [&](double value) { return llvm::ConstantFP::get(x->getType(), value); };
  llvm::Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* small = b.CreateFCmpOLT(magnitude, number(0x1p-60));
  // x itself, which arithmetic flushes if it is denormal. The square's sign keeps that of zero.
  llvm::Value* square = b.CreateFMul(x, b.CreateFMul(x, number(-0.5)));
  return b.CreateSelect(small, b.CreateFAdd(x, square), result);
}

// SLEEF's quotient has a reciprocal of the larger operand and the rounding errors of products,
// which may be denormal: both operands are scaled by the same power of two, which changes nothing.
llvm::Value* emit_atan2(FunctionEmitter& f, llvm::Value* y, llvm::Value* x) {
  auto& b = f.b;
  llvm::Type* type = x->getType();
  const bool is_double = type->isDoubleTy();
  const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  llvm::Value* ay = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y);
  llvm::Value* ax = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* larger = b.CreateSelect(b.CreateFCmpOGT(ay, ax), ay, ax);
  llvm::Value* huge = b.CreateFCmpOGT(larger, number(is_double ? 0x1p900 : 0x1p100));
  llvm::Value* tiny = b.CreateFCmpOLT(larger, number(is_double ? 0x1p-900 : 0x1p-60));
  llvm::Value* scale = b.CreateSelect(tiny, number(is_double ? 0x1p200 : 0x1p40), number(1));
  scale = b.CreateSelect(huge, number(is_double ? 0x1p-200 : 0x1p-40), scale);
  return emit_sleef(f, Math::atan2, b.CreateFMul(y, scale), b.CreateFMul(x, scale));
}

}  // namespace

llvm::Value* emit_math(FunctionEmitter& f, Math function, llvm::Value* x, llvm::Value* y) {
  if (x->getType()->isFloatTy()) {
    FloatCode code(f);
    switch (function) {
      case Math::exp:
        return code.exp(x);
      case Math::log:
        return code.log(x);
      case Math::logistic:
        return code.logistic(x);
      case Math::tanh:
        return code.tanh(x);
      default:
        break;
    }
  } else if (function == Math::logistic) {
    // As FloatCode::logistic.
    llvm::Value* one = llvm::ConstantFP::get(x->getType(), 1);
    llvm::Value* minus = f.b.CreateFNeg(f.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x));
    llvm::Value* e = emit_sleef(f, Math::exp, minus, nullptr);
    llvm::Value* negative = f.b.CreateFCmpOLT(x, llvm::ConstantFP::get(x->getType(), 0));
    return f.b.CreateFDiv(f.b.CreateSelect(negative, e, one), f.b.CreateFAdd(one, e));
  }
  if (function == Math::log1p) {
    // SLEEF's overflows near the largest numbers, where it is the logarithm.
    llvm::Value* large = f.b.CreateFCmpOGT(x, llvm::ConstantFP::get(x->getType(), 0x1p60));
    llvm::Value* result = f.b.CreateSelect(large, emit_math(f, Math::log, x, nullptr),
                                           emit_sleef(f, function, x, nullptr));
    return near_identity(f, x, result);
  }
  switch (function) {
    case Math::expm1:
    case Math::sin:
    case Math::tan:
    case Math::tanh:
      return near_identity(f, x, emit_sleef(f, function, x, nullptr));
    case Math::atan2:
      return emit_atan2(f, x, y);
    default:
      return emit_sleef(f, function, x, y);
  }
}

}  // namespace systole::cpu
