#include "systole/stablehlo/text/format.h"

#include <algorithm>
#include <iterator>

#include "systole/base/error.h"

namespace systole::hlo::text {
namespace {

struct Signature {
  std::string_view begin;
  std::string_view format;
  std::string_view advice;
};

constexpr std::string_view kBytecodeAdvice =
    "`systole hlo translate FILE` prints a portable artifact, `stablehlo-opt FILE` other bytecode; "
    "JAX's `lowered.as_text()` and `exported.mlir_module()` are text";
constexpr Signature kSignatures[] = {
    {"ML\xefR", "MLIR bytecode", kBytecodeAdvice},
    {"StableHLO_v", "a StableHLO portable artifact", kBytecodeAdvice},
    {"HloModule ", "HLO text",
     "ask for StableHLO where it was exported (JAX: `lowered.as_text()`, PyTorch/XLA: "
     "`exported_program_to_stablehlo`, TensorFlow: `stage=\"stablehlo\"`), or convert it with "
     "XLA's `hlo-translate --hlo-to-stablehlo`"},
    {"PK\x03\x04", "a zip archive",
     "export the program as StableHLO text; of PyTorch's .pt2 torch_xla's "
     "`exported_program_to_stablehlo` makes it"},
    {"hlo_module {", "an HLO proto in text form",
     "convert it with XLA's `hlo-translate --hlo-to-stablehlo`"},
};

struct Dialect {
  std::string_view prefix;
  std::string_view advice;
};

constexpr Dialect kDialects[] = {
    {"vhlo.",
     "VHLO is what StableHLO is stored as: `stablehlo-opt --vhlo-to-version=target=current "
     "--vhlo-legalize-to-stablehlo` converts it"},
    {"mhlo.", "`mlir-hlo-opt --hlo-legalize-to-stablehlo` converts MHLO"},
    {"tf.", "`tf-mlir-translate` and TensorFlow's bridge make StableHLO of its graphs"},
    {"torch.", "`torch-mlir-opt --torch-backend-to-stablehlo-backend-pipeline` converts it"},
    {"onnx.", "`onnx-mlir-opt --convert-onnx-to-stablehlo` converts it"},
    {"stablehlo.dynamic_",
     "sizes have to be static: export with fixed shapes, or run "
     "`stablehlo-opt --stablehlo-refine-arguments --stablehlo-refine-shapes "
     "--stablehlo-canonicalize-dynamism` on it"},
};

// Text contains no control characters except white space.
bool is_binary(std::string_view text) {
  constexpr size_t kLooked = 512;
  return std::ranges::any_of(text.substr(0, kLooked), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v';
  });
}

}  // namespace

void expect_stablehlo_text(std::string_view text, std::string_view file) {
  const auto refuse = [&](std::string_view format, std::string_view advice) {
    return unimplemented("{}: format, got {}, expected StableHLO text: {}", file, format, advice);
  };
  for (const Signature& signature : kSignatures) {
    if (text.starts_with(signature.begin)) throw refuse(signature.format, signature.advice);
  }
  if (!is_binary(text)) return;
  throw refuse("binary data (an HLO proto, a serialized jax.export, a compiled executable?)",
               "export the program as text, as JAX's `lowered.as_text()` and "
               "`exported.mlir_module()` do");
}

std::string advice_on(std::string_view op) {
  const auto found = std::ranges::find_if(
      kDialects, [&](const Dialect& dialect) { return op.starts_with(dialect.prefix); });
  return found == std::end(kDialects) ? "" : ": " + std::string(found->advice);
}

}  // namespace systole::hlo::text
