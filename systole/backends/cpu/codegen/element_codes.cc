// The element code of every elementwise opcode: the table at the end.
#include <algorithm>
#include <array>

#include "systole/backends/cpu/codegen/elements.h"
#include "systole/backends/cpu/codegen/math.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using Sources = std::span<llvm::Value* const>;
namespace Intrinsic = llvm::Intrinsic;

// Types of elements as code sees them.
struct Kind {
  explicit Kind(DType dtype)
      : dtype(dtype),
        info(dtype_info(dtype)),
        floating(info.floating),
        complex(info.complex),
        is_signed(info.is_signed),
        pred(dtype == DType::pred),
        narrow(info.bits < 8 && !pred) {}
  DType dtype;
  const DTypeInfo& info;
  bool floating;
  bool complex;
  bool is_signed;
  bool pred;
  bool narrow;  // an integer below 8 bits
};

Kind operand_kind(const Instruction& x) { return Kind(x.operand(0).dtype()); }

llvm::Value* integer(llvm::Value* like, int64_t value) {
  return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(value), true);
}
llvm::Value* real(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

// The bits of an integer as an unsigned number of its width.
llvm::Value* bits_of(FunctionEmitter& f, const Kind& kind, llvm::Value* x) {
  return kind.narrow ? f.b.CreateAnd(x, integer(x, (1 << kind.info.bits) - 1)) : x;
}

// -- Complex numbers

struct Complex {
  llvm::Value* re;
  llvm::Value* im;
};

Complex parts(FunctionEmitter& f, llvm::Value* x) {
  return {f.b.CreateExtractValue(x, 0), f.b.CreateExtractValue(x, 1)};
}

llvm::Value* join(FunctionEmitter& f, llvm::Type* type, Complex x) {
  llvm::Value* result = llvm::PoisonValue::get(type);
  result = f.b.CreateInsertValue(result, x.re, 0);
  return f.b.CreateInsertValue(result, x.im, 1);
}

llvm::Value* complex_arithmetic(FunctionEmitter& f, Opcode opcode, Sources s) {
  auto& b = f.b;
  llvm::Type* type = s[0]->getType();
  const Complex x = parts(f, s[0]);
  if (opcode == Opcode::negate) return join(f, type, {b.CreateFNeg(x.re), b.CreateFNeg(x.im)});
  const Complex y = parts(f, s[1]);
  switch (opcode) {
    case Opcode::add:
      return join(f, type, {b.CreateFAdd(x.re, y.re), b.CreateFAdd(x.im, y.im)});
    case Opcode::subtract:
      return join(f, type, {b.CreateFSub(x.re, y.re), b.CreateFSub(x.im, y.im)});
    case Opcode::multiply:
      return join(f, type,
                  {b.CreateFSub(b.CreateFMul(x.re, y.re), b.CreateFMul(x.im, y.im)),
                   b.CreateFAdd(b.CreateFMul(x.re, y.im), b.CreateFMul(x.im, y.re))});
    default:
      return nullptr;
  }
}

// real, imag: one part of a complex number; a real number is its own real part.
llvm::Value* part(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  const bool real_part = x.is(Opcode::real);
  if (operand_kind(x).complex) return e.f.b.CreateExtractValue(s[0], real_part ? 0U : 1U);
  return real_part ? s[0] : real(s[0], 0);
}

llvm::Value* complex(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  return join(e.f, register_type(e.f.program.context(), x.dtype()), {s[0], s[1]});
}

// -- Arithmetic

llvm::Value* arithmetic(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  auto& b = e.f.b;
  const Kind kind = operand_kind(x);
  if (kind.complex) return complex_arithmetic(e.f, x.opcode(), s);
  llvm::Value* r = nullptr;
  switch (x.opcode()) {
    case Opcode::add:
      r = kind.floating ? b.CreateFAdd(s[0], s[1])
          : kind.pred   ? b.CreateOr(s[0], s[1])
                        : b.CreateAdd(s[0], s[1]);
      break;
    case Opcode::subtract:
      r = kind.floating ? b.CreateFSub(s[0], s[1]) : b.CreateSub(s[0], s[1]);
      break;
    case Opcode::multiply:
      r = kind.floating ? b.CreateFMul(s[0], s[1])
          : kind.pred   ? b.CreateAnd(s[0], s[1])
                        : b.CreateMul(s[0], s[1]);
      break;
    case Opcode::negate:
      return kind.floating ? b.CreateFNeg(s[0]) : fit(e.f, kind.dtype, b.CreateNeg(s[0]));
    default:
      return nullptr;
  }
  return fit(e.f, kind.dtype, r);
}

// By zero: -1, or all ones; the lowest value by -1 wraps to itself.
llvm::Value* integer_quotient(FunctionEmitter& f, const Kind& kind, llvm::Value* x, llvm::Value* y,
                              bool remainder) {
  auto& b = f.b;
  llvm::Value* zero = b.CreateICmpEQ(y, integer(y, 0));
  if (!kind.is_signed) {
    llvm::Value* safe = b.CreateSelect(zero, integer(y, 1), y);
    return b.CreateSelect(zero, remainder ? x : integer(y, -1),
                          remainder ? b.CreateURem(x, safe) : b.CreateUDiv(x, safe));
  }
  llvm::Value* minus_one = b.CreateICmpEQ(y, integer(y, -1));
  llvm::Value* safe = b.CreateSelect(b.CreateOr(zero, minus_one), integer(y, 1), y);
  llvm::Value* r = remainder ? b.CreateSRem(x, safe) : b.CreateSDiv(x, safe);
  r = b.CreateSelect(minus_one, remainder ? integer(y, 0) : b.CreateNeg(x), r);
  return b.CreateSelect(zero, remainder ? x : integer(y, -1), r);
}

llvm::Value* divide(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  const Kind kind = operand_kind(x);
  llvm::Value* r =
      kind.floating ? e.f.b.CreateFDiv(s[0], s[1]) : integer_quotient(e.f, kind, s[0], s[1], false);
  return fit(e.f, kind.dtype, r);
}

llvm::Value* remainder(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  const Kind kind = operand_kind(x);
  llvm::Value* r =
      kind.floating ? e.f.b.CreateFRem(s[0], s[1]) : integer_quotient(e.f, kind, s[0], s[1], true);
  return fit(e.f, kind.dtype, r);
}

// maximum and minimum: NaN if either is, -0 below +0.
llvm::Value* extremum(FunctionEmitter& f, const Kind& kind, bool maximum, llvm::Value* x,
                      llvm::Value* y) {
  if (kind.pred) return maximum ? f.b.CreateOr(x, y) : f.b.CreateAnd(x, y);
  Intrinsic::ID id = maximum ? Intrinsic::maximum : Intrinsic::minimum;
  if (!kind.floating && kind.is_signed) id = maximum ? Intrinsic::smax : Intrinsic::smin;
  if (!kind.floating && !kind.is_signed) id = maximum ? Intrinsic::umax : Intrinsic::umin;
  return f.b.CreateBinaryIntrinsic(id, x, y);
}

llvm::Value* extremum(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  const Kind kind = operand_kind(x);
  return extremum(e.f, kind, x.is(Opcode::maximum), s[0], s[1]);
}

llvm::Value* clamp(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  const Kind kind(x.dtype());
  return extremum(e.f, kind, false, extremum(e.f, kind, true, s[1], s[0]), s[2]);
}

// The larger part times sqrt(1 + q^2) for the quotient q of the parts, which overflows only if the
// result does.
llvm::Value* complex_abs(FunctionEmitter& f, llvm::Value* x) {
  auto& b = f.b;
  const auto [re, im] = parts(f, x);
  llvm::Value* first = b.CreateUnaryIntrinsic(Intrinsic::fabs, re);
  llvm::Value* second = b.CreateUnaryIntrinsic(Intrinsic::fabs, im);
  llvm::Value* infinity = real(first, std::numeric_limits<double>::infinity());
  llvm::Value* infinite =
      b.CreateOr(b.CreateFCmpOEQ(first, infinity), b.CreateFCmpOEQ(second, infinity));
  llvm::Value* ordered = b.CreateFCmpOGT(first, second);
  llvm::Value* large = b.CreateSelect(ordered, first, second);
  llvm::Value* small = b.CreateSelect(ordered, second, first);
  llvm::Value* q = b.CreateFDiv(small, large);
  llvm::Value* root =
      b.CreateUnaryIntrinsic(Intrinsic::sqrt, b.CreateFAdd(real(q, 1), b.CreateFMul(q, q)));
  llvm::Value* zero = b.CreateFCmpOEQ(large, real(large, 0));
  llvm::Value* product =
      b.CreateSelect(zero, b.CreateFAdd(large, small), b.CreateFMul(large, root));
  return b.CreateSelect(infinite, infinity, product);
}

llvm::Value* abs(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  const Kind kind = operand_kind(x);
  if (kind.complex) return complex_abs(e.f, s[0]);
  if (kind.floating) return e.f.b.CreateUnaryIntrinsic(Intrinsic::fabs, s[0]);
  return fit(e.f, kind.dtype, e.f.b.CreateBinaryIntrinsic(Intrinsic::abs, s[0], e.f.b.getFalse()));
}

llvm::Value* sign(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  auto& b = e.f.b;
  const Kind kind = operand_kind(x);
  if (!kind.floating) {
    llvm::Value* positive = b.CreateZExt(b.CreateICmpSGT(s[0], integer(s[0], 0)), s[0]->getType());
    return b.CreateSub(positive,
                       b.CreateZExt(b.CreateICmpSLT(s[0], integer(s[0], 0)), s[0]->getType()));
  }
  // The sign of a zero is that zero, that of NaN is NaN. Comparisons flush denormals, so the sign
  // of a denormal number is a zero of its sign.
  llvm::Value* nonzero = b.CreateFCmpONE(s[0], real(s[0], 0));
  llvm::Value* size = b.CreateSelect(nonzero, real(s[0], 1), real(s[0], 0));
  return b.CreateSelect(b.CreateFCmpUNO(s[0], s[0]), s[0],
                        b.CreateBinaryIntrinsic(Intrinsic::copysign, size, s[0]));
}

llvm::Value* power(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  auto& b = e.f.b;
  const Kind kind = operand_kind(x);
  if (kind.floating) return fit(e.f, kind.dtype, emit_math(e.f, Math::pow, s[0], s[1]));
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty(), b.getInt64Ty()}, false);
  auto callee = e.f.runtime_function(
      kind.is_signed ? "systole_cpu_signed_power" : "systole_cpu_unsigned_power", type);
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotAccessMemory();
  llvm::Value* r = b.CreateCall(callee, {b.CreateIntCast(s[0], b.getInt64Ty(), kind.is_signed),
                                         b.CreateIntCast(s[1], b.getInt64Ty(), kind.is_signed)});
  return fit(e.f, kind.dtype, b.CreateTrunc(r, s[0]->getType()));
}

// -- Bits

llvm::Value* bitwise(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  auto& b = e.f.b;
  const Kind kind = operand_kind(x);
  switch (x.opcode()) {
    case Opcode::and_:
      return b.CreateAnd(s[0], s[1]);
    case Opcode::or_:
      return b.CreateOr(s[0], s[1]);
    case Opcode::xor_:
      return b.CreateXor(s[0], s[1]);
    case Opcode::not_:
      return fit(e.f, kind.dtype, b.CreateNot(s[0]));
    case Opcode::popcnt:
      return b.CreateUnaryIntrinsic(Intrinsic::ctpop, bits_of(e.f, kind, s[0]));
    default: {
      llvm::Value* zeros =
          b.CreateBinaryIntrinsic(Intrinsic::ctlz, bits_of(e.f, kind, s[0]), b.getFalse());
      return kind.narrow ? b.CreateSub(zeros, integer(zeros, 8 - kind.info.bits)) : zeros;
    }
  }
}

// Shifting by the width or more leaves nothing, or the sign.
llvm::Value* shift(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  auto& b = e.f.b;
  const Kind kind = operand_kind(x);
  llvm::Value* by = bits_of(e.f, kind, s[1]);
  llvm::Value* inside = b.CreateICmpULT(by, integer(by, kind.info.bits));
  if (x.is(Opcode::shift_right_arithmetic)) {
    // As signed numbers, whatever the type says.
    llvm::Value* value =
        kind.narrow ? fit(e.f, kind.info.bits == 2 ? DType::s2 : DType::s4, s[0]) : s[0];
    llvm::Value* safe = b.CreateSelect(inside, by, integer(by, kind.info.bits - 1));
    return fit(e.f, kind.dtype, b.CreateAShr(value, safe));
  }
  llvm::Value* value = bits_of(e.f, kind, s[0]);
  llvm::Value* safe = b.CreateSelect(inside, by, integer(by, 0));
  llvm::Value* r = x.is(Opcode::shift_left) ? b.CreateShl(value, safe) : b.CreateLShr(value, safe);
  return fit(e.f, kind.dtype, b.CreateSelect(inside, r, integer(r, 0)));
}

// The element's bits as an integer of its width, and back.
llvm::Value* to_bits(FunctionEmitter& f, DType dtype, llvm::Value* x) {
  auto& b = f.b;
  switch (dtype) {
    case DType::pred:
      return b.CreateZExt(x, b.getInt8Ty());
    case DType::f16:
      return b.CreateBitCast(b.CreateFPTrunc(x, b.getHalfTy()), b.getInt16Ty());
    case DType::bf16:
      return b.CreateTrunc(b.CreateLShr(b.CreateBitCast(x, b.getInt32Ty()), 16), b.getInt16Ty());
    case DType::f32:
      return b.CreateBitCast(x, b.getInt32Ty());
    case DType::f64:
      return b.CreateBitCast(x, b.getInt64Ty());
    case DType::s2:
    case DType::u2:
      return b.CreateAnd(x, integer(x, 3));
    case DType::s4:
    case DType::u4:
      return b.CreateAnd(x, integer(x, 15));
    default:
      return x;
  }
}

llvm::Value* from_bits(FunctionEmitter& f, DType dtype, llvm::Value* x) {
  auto& b = f.b;
  switch (dtype) {
    case DType::pred:
      return b.CreateTrunc(x, b.getInt1Ty());
    case DType::f16:
      return b.CreateFPExt(b.CreateBitCast(x, b.getHalfTy()), b.getFloatTy());
    case DType::bf16:
      return b.CreateBitCast(b.CreateShl(b.CreateZExt(x, b.getInt32Ty()), 16), b.getFloatTy());
    case DType::f32:
      return b.CreateBitCast(x, b.getFloatTy());
    case DType::f64:
      return b.CreateBitCast(x, b.getDoubleTy());
    case DType::s2:
    case DType::u2:
    case DType::s4:
    case DType::u4:
      return fit(f, dtype, x);
    default:
      return x;
  }
}

llvm::Value* bitcast_convert(Elements& e, const Instruction& x, const IndexRef& index, Sources s) {
  auto& b = e.f.b;
  const Kind from = operand_kind(x);
  const Kind to(x.dtype());
  const auto width = [](const Kind& k) { return static_cast<unsigned>(std::max(k.info.bits, 8)); };
  if (from.info.bits == to.info.bits)
    return from_bits(e.f, to.dtype, to_bits(e.f, from.dtype, s[0]));
  if (from.info.bits > to.info.bits) {
    llvm::Value* whole = to_bits(e.f, from.dtype, s[0]);
    llvm::Value* part = e.number(index->at(e).back());
    llvm::Value* by =
        b.CreateMul(b.CreateIntCast(part, whole->getType(), false), integer(whole, to.info.bits));
    llvm::Value* bits = b.CreateTrunc(b.CreateLShr(whole, by), b.getIntNTy(width(to)));
    return from_bits(e.f, to.dtype, bits);
  }
  llvm::Type* type = b.getIntNTy(width(to));
  llvm::Value* whole = llvm::ConstantInt::get(type, 0);
  for (size_t k = 0; k < s.size(); ++k) {
    llvm::Value* part = b.CreateZExt(to_bits(e.f, from.dtype, s[k]), type);
    whole = b.CreateOr(whole, b.CreateShl(part, k * static_cast<unsigned>(from.info.bits)));
  }
  return from_bits(e.f, to.dtype, whole);
}

// The layout of an IEEE-754 like format, as registers hold it: bf16 is a float whose low bits are
// zero.
llvm::Value* reduce_precision(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  auto& b = e.f.b;
  const DType dtype = x.dtype();
  const auto& to = x.attrs<hlo::ReducePrecisionAttrs>();
  const DType held = dtype == DType::bf16 ? DType::f32 : dtype;
  const int exponent_bits = held == DType::f16 ? 5 : held == DType::f32 ? 8 : 11;
  const int mantissa_bits = held == DType::f16 ? 10 : held == DType::f32 ? 23 : 52;
  llvm::Value* bits = to_bits(e.f, held, s[0]);
  const auto number = [&](uint64_t v) { return llvm::ConstantInt::get(bits->getType(), v); };
  const auto low = [](int n) { return (uint64_t{1} << n) - 1; };
  const uint64_t infinity = low(exponent_bits) << mantissa_bits;
  llvm::Value* is_nan = b.CreateICmpUGT(
      b.CreateAnd(bits, number(low(exponent_bits + mantissa_bits))), number(infinity));
  llvm::Value* r = bits;
  if (const int dropped = mantissa_bits - to.mantissa_bits; dropped > 0) {
    llvm::Value* last = b.CreateAnd(b.CreateLShr(r, static_cast<uint64_t>(dropped)), number(1));
    r = b.CreateAnd(b.CreateAdd(b.CreateAdd(r, number(low(dropped - 1))), last),
                    number(~low(dropped)));
  }
  if (to.exponent_bits < exponent_bits) {
    const uint64_t bias = low(exponent_bits - 1);
    const uint64_t narrow_bias = low(to.exponent_bits - 1);
    llvm::Value* sign = b.CreateAnd(r, number(uint64_t{1} << (exponent_bits + mantissa_bits)));
    llvm::Value* exponent = b.CreateAnd(b.CreateLShr(r, static_cast<uint64_t>(mantissa_bits)),
                                        number(low(exponent_bits)));
    llvm::Value* small = b.CreateICmpULE(exponent, number(bias - narrow_bias));
    llvm::Value* large = b.CreateICmpUGT(exponent, number(bias + narrow_bias));
    r = b.CreateSelect(large, b.CreateOr(sign, number(infinity)), b.CreateSelect(small, sign, r));
  }
  r = b.CreateSelect(is_nan, to.mantissa_bits > 0 ? bits : number(infinity), r);
  return from_bits(e.f, held, r);
}

// -- Comparison and choice

// Integers in IEEE-754's total order of the numbers.
llvm::Value* total_order_key(FunctionEmitter& f, llvm::Value* x) {
  const unsigned width = x->getType()->getPrimitiveSizeInBits();
  llvm::Value* bits = f.b.CreateBitCast(x, f.b.getIntNTy(width));
  llvm::Value* negative = f.b.CreateAShr(bits, width - 1);
  return f.b.CreateXor(bits, f.b.CreateLShr(negative, 1));
}

// Only equality is defined: both parts are equal, or one of them is not.
llvm::Value* complex_equality(FunctionEmitter& f, llvm::CmpInst::Predicate predicate, Sources s) {
  auto& b = f.b;
  const Complex x = parts(f, s[0]);
  const Complex y = parts(f, s[1]);
  llvm::Value* re = b.CreateFCmp(predicate, x.re, y.re);
  llvm::Value* im = b.CreateFCmp(predicate, x.im, y.im);
  return predicate == llvm::CmpInst::FCMP_OEQ ? b.CreateAnd(re, im) : b.CreateOr(re, im);
}

llvm::Value* compare(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  using Predicate = llvm::CmpInst::Predicate;
  using Direction = hlo::ComparisonDirection;
  const auto& attrs = x.attrs<hlo::CompareAttrs>();
  const Kind kind = operand_kind(x);
  struct Row {
    Predicate floating, is_signed, is_unsigned;
  };
  const auto row = [&]() -> Row {
    switch (attrs.direction) {
      case Direction::eq:
        return {Predicate::FCMP_OEQ, Predicate::ICMP_EQ, Predicate::ICMP_EQ};
      case Direction::ne:
        return {Predicate::FCMP_UNE, Predicate::ICMP_NE, Predicate::ICMP_NE};
      case Direction::ge:
        return {Predicate::FCMP_OGE, Predicate::ICMP_SGE, Predicate::ICMP_UGE};
      case Direction::gt:
        return {Predicate::FCMP_OGT, Predicate::ICMP_SGT, Predicate::ICMP_UGT};
      case Direction::le:
        return {Predicate::FCMP_OLE, Predicate::ICMP_SLE, Predicate::ICMP_ULE};
      default:
        return {Predicate::FCMP_OLT, Predicate::ICMP_SLT, Predicate::ICMP_ULT};
    }
  }();
  if (kind.complex) return complex_equality(e.f, row.floating, s);
  if (kind.floating && attrs.compare_type == hlo::ComparisonType::totalorder) {
    return e.f.b.CreateICmp(row.is_signed, total_order_key(e.f, s[0]), total_order_key(e.f, s[1]));
  }
  if (kind.floating) return e.f.b.CreateFCmp(row.floating, s[0], s[1]);
  return e.f.b.CreateICmp(kind.is_signed ? row.is_signed : row.is_unsigned, s[0], s[1]);
}

llvm::Value* select(Elements& e, const Instruction&, const IndexRef&, Sources s) {
  return e.f.b.CreateSelect(s[0], s[1], s[2]);
}

llvm::Value* is_finite(Elements& e, const Instruction&, const IndexRef&, Sources s) {
  llvm::Value* magnitude = e.f.b.CreateUnaryIntrinsic(Intrinsic::fabs, s[0]);
  return e.f.b.CreateFCmpOLT(magnitude, real(s[0], std::numeric_limits<double>::infinity()));
}

// -- Functions of one float

template <Intrinsic::ID kId>
llvm::Value* intrinsic(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  return fit(e.f, x.dtype(), e.f.b.CreateUnaryIntrinsic(kId, s[0]));
}

llvm::Value* rsqrt(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  return fit(e.f, x.dtype(),
             e.f.b.CreateFDiv(real(s[0], 1), e.f.b.CreateUnaryIntrinsic(Intrinsic::sqrt, s[0])));
}

template <Math kFunction>
llvm::Value* math(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  return fit(e.f, x.dtype(), emit_math(e.f, kFunction, s[0], s.size() > 1 ? s[1] : nullptr));
}

// -- Data movement

llvm::Value* convert(Elements& e, const Instruction& x, const IndexRef&, Sources s) {
  return convert(e.f, x.operand(0).dtype(), x.dtype(), s[0]);
}

llvm::Value* move(Elements&, const Instruction&, const IndexRef&, Sources s) { return s[0]; }

llvm::Value* iota(Elements& e, const Instruction& x, const IndexRef& index, Sources) {
  llvm::Value* i = e.number(index->at(e)[x.attrs<hlo::IotaAttrs>().iota_dimension]);
  // Through 32 bits, which convert to floats faster, where they are enough.
  const bool small = x.shape().num_elements() < (int64_t{1} << 31);
  if (small) i = e.f.b.CreateTrunc(i, e.f.b.getInt32Ty());
  return convert(e.f, small ? DType::s32 : DType::s64, x.dtype(), i);
}

struct Row {
  Opcode opcode;
  ElementCode code;
  bool complex = false;  // also for complex elements
};
constexpr Row kCodes[] = {
    {Opcode::abs, abs, true},
    {Opcode::add, arithmetic, true},
    {Opcode::and_, bitwise},
    {Opcode::atan2, math<Math::atan2>},
    {Opcode::bitcast_convert, bitcast_convert},
    {Opcode::broadcast_in_dim, move, true},
    {Opcode::cbrt, math<Math::cbrt>},
    {Opcode::ceil, intrinsic<Intrinsic::ceil>},
    {Opcode::clamp, clamp},
    {Opcode::compare, compare, true},
    {Opcode::complex, complex, true},
    {Opcode::convert, convert, true},
    {Opcode::cosine, math<Math::cos>},
    {Opcode::count_leading_zeros, bitwise},
    {Opcode::divide, divide},
    {Opcode::dynamic_slice, move, true},
    {Opcode::exponential, math<Math::exp>},
    {Opcode::exponential_minus_one, math<Math::expm1>},
    {Opcode::floor, intrinsic<Intrinsic::floor>},
    {Opcode::gather, move, true},
    {Opcode::imag, part, true},
    {Opcode::iota, iota, true},
    {Opcode::is_finite, is_finite},
    {Opcode::log, math<Math::log>},
    {Opcode::log_plus_one, math<Math::log1p>},
    {Opcode::logistic, math<Math::logistic>},
    {Opcode::maximum, extremum},
    {Opcode::minimum, extremum},
    {Opcode::multiply, arithmetic, true},
    {Opcode::negate, arithmetic, true},
    {Opcode::not_, bitwise},
    {Opcode::or_, bitwise},
    {Opcode::popcnt, bitwise},
    {Opcode::power, power},
    {Opcode::real, part, true},
    {Opcode::reduce_precision, reduce_precision},
    {Opcode::remainder, remainder},
    {Opcode::reshape, move, true},
    {Opcode::reverse, move, true},
    {Opcode::round_nearest_afz, intrinsic<Intrinsic::round>},
    {Opcode::round_nearest_even, intrinsic<Intrinsic::roundeven>},
    {Opcode::rsqrt, rsqrt},
    {Opcode::select, select, true},
    {Opcode::shift_left, shift},
    {Opcode::shift_right_arithmetic, shift},
    {Opcode::shift_right_logical, shift},
    {Opcode::sign, sign},
    {Opcode::sine, math<Math::sin>},
    {Opcode::slice, move, true},
    {Opcode::sqrt, intrinsic<Intrinsic::sqrt>},
    {Opcode::subtract, arithmetic, true},
    {Opcode::tan, math<Math::tan>},
    {Opcode::tanh, math<Math::tanh>},
    {Opcode::transpose, move, true},
    {Opcode::xor_, bitwise},
};

constexpr auto kByOpcode = [] {
  std::array<Row, hlo::kNumOpcodes> table{};
  for (const Row& row : kCodes) table[static_cast<size_t>(row.opcode)] = row;
  return table;
}();

bool has_complex(const Instruction& x) {
  const auto complex = [](const TensorType& type) { return is_complex(type.dtype); };
  return std::ranges::any_of(x.results(), complex) ||
         std::ranges::any_of(x.operands(), [&](const hlo::Value& v) { return complex(v.type()); });
}

}  // namespace

llvm::Value* emit_reducer(FunctionEmitter& f, Opcode opcode, DType dtype, llvm::Value* x,
                          llvm::Value* y) {
  auto& b = f.b;
  const Kind kind(dtype);
  if (kind.complex) return complex_arithmetic(f, opcode, std::array{x, y});
  switch (opcode) {
    case Opcode::add:
      return kind.floating ? b.CreateFAdd(x, y)
             : kind.pred   ? b.CreateOr(x, y)
                           : fit(f, dtype, b.CreateAdd(x, y));
    case Opcode::multiply:
      return kind.floating ? b.CreateFMul(x, y)
             : kind.pred   ? b.CreateAnd(x, y)
                           : fit(f, dtype, b.CreateMul(x, y));
    case Opcode::maximum:
      return extremum(f, kind, true, x, y);
    case Opcode::minimum:
      return extremum(f, kind, false, x, y);
    case Opcode::and_:
      return b.CreateAnd(x, y);
    case Opcode::or_:
      return b.CreateOr(x, y);
    case Opcode::xor_:
      return b.CreateXor(x, y);
    default:
      return nullptr;
  }
}

ElementCode element_code(const Instruction& x) {
  const Row& row = kByOpcode[static_cast<size_t>(x.opcode())];
  return row.complex || !has_complex(x) ? row.code : nullptr;
}

}  // namespace systole::cpu
