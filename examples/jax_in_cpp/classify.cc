// Runs a program that JAX has exported, without Python: reads the digits of a table by it.
//
//   classify PROGRAM.mlirbc TABLE.csv     64 numbers and the digit in each row
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "systole/runtime/registry.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/systole.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: classify PROGRAM.mlirbc TABLE.csv\n", 2;
  try {
    std::ifstream file(argv[1], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto program =
        st::runtime::client("cpu").compile(*st::hlo::read_modules(bytes, argv[1]).at(0));

    const st::TensorType& type = program->parameter_types()[0];  // f32[rows, 64]
    st::Tensor pixels(type);
    std::vector<int> digits;
    std::ifstream table(argv[2]);
    char comma = 0;
    for (int64_t row = 0; row < type.shape[0]; ++row) {
      for (int64_t i = 0; i < 64; ++i) table >> pixels.data<float>()[row * 64 + i] >> comma;
      table >> digits.emplace_back();
    }
    const st::Tensor guesses = st::runtime::run(*program, {{pixels}})[0];
    int64_t right = 0;
    for (size_t row = 0; row < digits.size(); ++row) {
      right += guesses.as_double(static_cast<int64_t>(row)) == digits[row] ? 1 : 0;
    }
    std::cout << right << " of " << digits.size() << " digits are right\n";
  } catch (const st::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
