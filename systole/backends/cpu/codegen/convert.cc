// Conversion of elements, as convert_element (base/convert.h) does it.
#include <cmath>

#include "systole/backends/cpu/codegen/elements.h"

namespace systole::cpu {
namespace {

// To nearest, ties to even, as a float whose low half is zero. In integer arithmetic: the native
// instruction flushes subnormals.
llvm::Value* round_to_bf16(FunctionEmitter& f, llvm::Value* x) {
  auto& b = f.b;
  llvm::Value* bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  llvm::Value* rounded = b.CreateAdd(b.CreateAdd(bits, odd), b.getInt32(0x7fff));
  // A NaN stays one, and quiet, though its payload is cut.
  llvm::Value* is_nan = b.CreateFCmpUNO(x, x);
  rounded = b.CreateSelect(is_nan, b.CreateOr(bits, b.getInt32(0x400000)), rounded);
  return b.CreateBitCast(b.CreateAnd(rounded, b.getInt32(0xffff0000)), b.getFloatTy());
}

// Truncated; saturates; NaN gives 0. By comparisons, of which LLVM makes vectors, as it does not of
// the conversions that saturate.
llvm::Value* float_to_integer(FunctionEmitter& f, DType to, llvm::Value* x) {
  auto& b = f.b;
  const bool is_signed = dtype_info(to).is_signed;
  const int bits = dtype_info(to).bits;
  const int value_bits = is_signed ? bits - 1 : bits;
  const double end = std::ldexp(1.0, value_bits);  // the first number that is too large
  const auto limit = [&](double number) { return llvm::ConstantFP::get(x->getType(), number); };
  llvm::Value* const is_nan = b.CreateFCmpUNO(x, x);
  llvm::Type* type = register_type(f.program.context(), to);
  if (bits < 32) {
    // The limits are exact in f32 and f64, the types that elements are computed in.
    const double low = is_signed ? -end : 0;
    x = b.CreateSelect(is_nan, limit(0), x);
    x = b.CreateSelect(b.CreateFCmpOLT(x, limit(low)), limit(low), x);
    x = b.CreateSelect(b.CreateFCmpOGT(x, limit(end - 1)), limit(end - 1), x);
    return b.CreateTrunc(b.CreateFPToSI(x, b.getInt32Ty()), type);
  }
  // Numbers outside give no number, which is not selected.
  const auto integer = [&](const llvm::APInt& n) { return llvm::ConstantInt::get(type, n); };
  const auto width = static_cast<unsigned>(bits);
  llvm::Value* r = is_signed ? b.CreateFPToSI(x, type) : b.CreateFPToUI(x, type);
  r = b.CreateSelect(
      b.CreateFCmpOGE(x, limit(end)),
      integer(is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width)),
      r);
  r = b.CreateSelect(
      b.CreateFCmpOLE(x, limit(is_signed ? -end : 0)),
      integer(is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getMinValue(width)),
      r);
  return b.CreateSelect(is_nan, integer(llvm::APInt::getZero(width)), r);
}

llvm::Value* to_floating(FunctionEmitter& f, DType from, DType to, llvm::Value* x) {
  auto& b = f.b;
  const bool narrow = to == DType::f16 || to == DType::bf16;
  llvm::Type* type = to == DType::f64 ? b.getDoubleTy() : b.getFloatTy();
  llvm::Value* r = nullptr;
  if (is_floating(from)) {
    r = b.CreateFPCast(x, type);
    // Every element of the narrow type is one of the wide.
    if (from == to || (narrow && size_of(from) < size_of(to))) return r;
  } else {
    r = dtype_info(from).is_signed ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
  }
  return narrow ? fit(f, to, r) : r;
}

}  // namespace

llvm::Value* fit(FunctionEmitter& f, DType dtype, llvm::Value* x) {
  auto& b = f.b;
  switch (dtype) {
    case DType::bf16:
      return round_to_bf16(f, x);
    case DType::f16:
      return b.CreateFPExt(b.CreateFPTrunc(x, b.getHalfTy()), b.getFloatTy());
    case DType::s2:
      return b.CreateAShr(b.CreateShl(x, 6), 6);
    case DType::s4:
      return b.CreateAShr(b.CreateShl(x, 4), 4);
    case DType::u2:
      return b.CreateAnd(x, b.getInt8(3));
    case DType::u4:
      return b.CreateAnd(x, b.getInt8(15));
    default:
      return x;
  }
}

llvm::Value* convert(FunctionEmitter& f, DType from, DType to, llvm::Value* x) {
  auto& b = f.b;
  if (from == to) return x;
  if (is_complex(to)) {
    llvm::Type* type = register_type(f.program.context(), to);
    llvm::Value* re = is_complex(from) ? b.CreateExtractValue(x, 0) : x;
    re = convert(f, real_dtype(from), real_dtype(to), re);
    llvm::Value* im = llvm::ConstantFP::get(re->getType(), 0);
    if (is_complex(from))
      im = convert(f, real_dtype(from), real_dtype(to), b.CreateExtractValue(x, 1));
    llvm::Value* pair = b.CreateInsertValue(llvm::PoisonValue::get(type), re, 0);
    return b.CreateInsertValue(pair, im, 1);
  }
  if (is_complex(from)) return convert(f, real_dtype(from), to, b.CreateExtractValue(x, 0));
  if (is_floating(to)) return to_floating(f, from, to, x);
  if (to == DType::pred) {
    if (is_floating(from)) return b.CreateFCmpUNE(x, llvm::ConstantFP::get(x->getType(), 0));
    return b.CreateICmpNE(x, llvm::ConstantInt::get(x->getType(), 0));
  }
  if (is_floating(from)) return float_to_integer(f, to, x);
  return fit(
      f, to,
      b.CreateIntCast(x, register_type(f.program.context(), to), dtype_info(from).is_signed));
}

}  // namespace systole::cpu
