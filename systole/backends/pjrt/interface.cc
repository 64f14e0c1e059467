#include "systole/backends/pjrt/interface.h"

#include <iomanip>
#include <sstream>

#include "systole/base/error.h"

namespace systole::pjrt {
namespace {

// "f32 2 8 128 1": an array of 8x128 that is stacked.
void write_array(std::ostream& out, const TensorType& type, bool stacked) {
  out << ' ' << dtype_info(type.dtype).mlir_name << ' ' << type.shape.rank();
  for (const int64_t size : type.shape) out << ' ' << size;
  out << ' ' << stacked;
}

// Reads a word. The stream fails if it is none, or less than `least`.
int64_t read_number(std::istream& in, int64_t least) {
  int64_t number = least;
  if (in >> number && number < least) in.setstate(std::ios::failbit);
  return number;
}

TensorType read_array(std::istream& in, std::vector<bool>& stacked) {
  std::string name;
  in >> name;
  const auto dtype = dtype_from_mlir(name);
  if (!dtype) in.setstate(std::ios::failbit);
  Dims dims;
  for (int64_t rank = read_number(in, 0); in && rank > 0; --rank) {
    dims.push_back(read_number(in, 0));
  }
  bool whole_is_stacked = false;
  in >> whole_is_stacked;
  stacked.push_back(whole_is_stacked);
  return {dtype.value_or(DType::invalid), Shape(in ? std::move(dims) : Dims())};
}

}  // namespace

std::string to_text(const Interface& interface) {
  std::ostringstream out;
  out << std::quoted(interface.name) << ' ' << interface.device_ids->size();
  for (const int id : *interface.device_ids) out << ' ' << id;
  out << ' ' << interface.parameters.size();
  for (size_t p = 0; p < interface.parameters.size(); ++p) {
    write_array(out, interface.parameters[p], interface.stacked_parameters[p]);
  }
  out << ' ' << interface.results.size();
  for (size_t k = 0; k < interface.results.size(); ++k) {
    write_array(out, interface.results[k], interface.stacked_results[k]);
    out << ' ' << interface.aliased_parameter[k];
  }
  return std::move(out).str();
}

Interface parse_interface(std::string_view platform, std::string_view text) {
  std::istringstream in{std::string(text)};
  Interface interface;
  std::vector<int> ids;
  in >> std::quoted(interface.name);
  for (int64_t left = read_number(in, 1); in && left > 0; --left) {
    in >> ids.emplace_back();
  }
  interface.device_ids = std::make_shared<const std::vector<int>>(std::move(ids));
  for (int64_t left = read_number(in, 0); in && left > 0; --left) {
    interface.parameters.push_back(read_array(in, interface.stacked_parameters));
  }
  interface.aliased.assign(interface.parameters.size(), false);
  for (int64_t left = read_number(in, 0); in && left > 0; --left) {
    interface.results.push_back(read_array(in, interface.stacked_results));
    const int64_t parameter = read_number(in, -1);
    if (parameter >= static_cast<int64_t>(interface.parameters.size())) {
      in.setstate(std::ios::failbit);
      break;
    }
    interface.aliased_parameter.push_back(static_cast<int>(parameter));
    if (parameter >= 0) interface.aliased[parameter] = true;
  }
  if (!in || in.peek() != std::istringstream::traits_type::eof()) {
    throw make_error(Code::data_loss,
                     "{}: compiled program, got '{}', expected its parameters and results",
                     platform, text);
  }
  return interface;
}

}  // namespace systole::pjrt
