#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <unordered_set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/node_builder.h"

namespace systole::python {
namespace {

// Python's half of conversions: systole_tpu/tensorflow/_values.py.
nb::object helper(const char* name) {
  return nb::module_::import_("systole_tpu.tensorflow._values").attr(name);
}

// The dtype of a buffer's format; invalid for one without a dtype of ours.
DType dtype_of_format(const char* format, size_t size) {
  if (format == nullptr) return DType::u8;
  if (*format == '<' || *format == '=' || *format == '@' || *format == '|') ++format;
  if (format[0] == 'Z') {
    if (format[1] == 'f') return DType::c64;
    return format[1] == 'd' ? DType::c128 : DType::invalid;
  }
  if (format[0] == '\0' || format[1] != '\0') return DType::invalid;
  switch (*format) {
    case '?':
      return DType::pred;
    case 'e':
      return DType::f16;
    case 'f':
      return DType::f32;
    case 'd':
      return DType::f64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return size == 1   ? DType::s8
             : size == 2 ? DType::s16
             : size == 4 ? DType::s32
                         : DType::s64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return size == 1   ? DType::u8
             : size == 2 ? DType::u16
             : size == 4 ? DType::u32
                         : DType::u64;
    default:
      return DType::invalid;
  }
}

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::pred:
      return "?";
    case DType::s8:
    case DType::s4:
    case DType::s2:
      return "b";
    case DType::s16:
      return "h";
    case DType::s32:
      return "i";
    case DType::s64:
      return "q";
    case DType::u8:
    case DType::u4:
    case DType::u2:
      return "B";
    case DType::u16:
    case DType::bf16:
      return "H";
    case DType::u32:
      return "I";
    case DType::u64:
      return "Q";
    case DType::f16:
      return "e";
    case DType::f32:
      return "f";
    case DType::f64:
      return "d";
    case DType::c64:
      return "Zf";
    case DType::c128:
      return "Zd";
    default:
      return nullptr;
  }
}

Tensor strings_of(nb::handle array) {
  const Shape shape = shape_of_object(array.attr("shape"));
  Tensor tensor(DType::string, shape);
  size_t next = 0;
  for (nb::handle element : array.attr("ravel")().attr("tolist")()) {
    std::string& text = tensor.data<std::string>()[next++];
    if (PyBytes_Check(element.ptr())) {
      text.assign(PyBytes_AS_STRING(element.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(element.ptr())));
    } else {
      text = nb::cast<std::string>(nb::str(element));
    }
  }
  return tensor;
}

nb::object strings_object(const Tensor& tensor) {
  nb::list elements;
  for (const std::string& text : tensor.data<std::string>()) {
    elements.append(nb::bytes(text.data(), text.size()));
  }
  return helper("string_array")(elements, shape_object(tensor.shape()));
}

// The attribute of a module, which `kept` keeps. Guarded by the GIL: a lock would wait for a thread that waits for the GIL.
nb::handle kept_attribute(nb::object*& kept, const char* module, const char* name) {
  if (kept == nullptr) kept = new nb::object(nb::module_::import_(module).attr(name));
  return *kept;
}

template <class T>
nb::object scalar_of(const char* type, const Tensor& tensor) {
  static nb::object* made = nullptr;
  return kept_attribute(made, "numpy", type)(tensor.item<T>());
}

// The NumPy scalar of a number; an invalid object for dtypes that Python has no numbers of.
nb::object scalar_of(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::pred:
      return scalar_of<bool>("bool_", tensor);
    case DType::s32:
      return scalar_of<int32_t>("int32", tensor);
    case DType::s64:
      return scalar_of<int64_t>("int64", tensor);
    case DType::f32:
      return scalar_of<float>("float32", tensor);
    case DType::f64:
      return scalar_of<double>("float64", tensor);
    default:
      return nb::object();
  }
}

// Memory of a tensor, for memoryview(): the buffer protocol of the type TensorMemory.
struct TensorMemory {
  Tensor tensor;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
};

int get_buffer(PyObject* self, Py_buffer* view, int) {
  auto* memory = nb::inst_ptr<TensorMemory>(nb::handle(self));
  const Tensor& tensor = memory->tensor;
  view->buf = const_cast<void*>(tensor.raw());
  view->obj = Py_NewRef(self);
  view->len = tensor.byte_size();
  view->readonly = 0;
  view->itemsize = size_of(tensor.dtype());
  view->format = const_cast<char*>(format_of(tensor.dtype()));
  view->ndim = tensor.rank();
  view->shape = memory->shape.data();
  view->strides = memory->strides.data();
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

PyType_Slot tensor_memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                     {0, nullptr}};

std::vector<std::string>& own_folders() {
  static auto* folders = new std::vector<std::string>();
  return *folders;
}

// Nodes keep the pointer, so texts live until the process ends.
const char* interned(std::string text) {
  static auto* texts = new std::unordered_set<std::string>();
  return texts->insert(std::move(text)).first->c_str();
}

bool is_own(std::string_view file) {
  return std::ranges::any_of(own_folders(),
                             [&](const std::string& folder) { return file.starts_with(folder); });
}

// The innermost line of Python that is not ours.
SourceLocation user_line() {
  SourceLocation where;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (file == nullptr) PyErr_Clear();
    const bool found = file != nullptr && !is_own(file);
    if (found) {
      where.file = interned(file);
      where.line = static_cast<uint32_t>(std::max(0, PyFrame_GetLineNumber(frame)));
    }
    Py_DECREF(code);
    PyFrameObject* back = found ? nullptr : PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return where;
}

}  // namespace

void bind_values(nb::module_& m) {
  nb::class_<TensorMemory>(m, "TensorMemory", nb::type_slots(tensor_memory_slots));
  m.def("set_own_folders", [](nb::list folders) {
    std::vector<std::string> all;
    for (nb::handle folder : folders) all.push_back(nb::cast<std::string>(folder));
    set_own_folders(std::move(all));
  });
}

std::shared_ptr<Graph> owner_of(Graph& graph) { return graph.root().weak_from_this().lock(); }

namespace {

// Returns the outermost graph. The pointer also keeps `graph` and the functions around it alive: if the body of one of
// them has failed, nothing else owns it.
std::shared_ptr<Graph> kept_graph(Graph& graph) {
  std::shared_ptr<Graph> root = owner_of(graph);
  if (root == nullptr || graph.outer() == nullptr) return root;
  auto all = std::make_shared<std::vector<std::shared_ptr<Graph>>>(1, root);
  for (Graph* function = &graph; function->outer() != nullptr; function = function->outer()) {
    all->push_back(function->weak_from_this().lock());
  }
  return {all, root.get()};
}

}  // namespace

nb::object wrap(const Output& output) {
  if (!output.valid()) return nb::none();
  return nb::cast(TensorHandle{output, kept_graph(output.graph())});
}
nb::object wrap(const Operation& operation) {
  if (!operation.valid()) return nb::none();
  return nb::cast(OperationHandle{operation, kept_graph(operation.node()->graph())});
}
nb::object wrap(const Variable& variable) {
  if (!variable.valid()) return nb::none();
  return nb::cast(VariableHandle{variable, kept_graph(variable.handle().graph())});
}
nb::object wrap(const std::vector<Output>& outputs) {
  nb::list result;
  for (const Output& output : outputs) result.append(wrap(output));
  return result;
}

DType dtype_of_object(nb::handle object) {
  if (object.is_none()) return DType::invalid;
  std::string name;
  if (PyUnicode_Check(object.ptr())) {
    name = nb::cast<std::string>(object);
  } else {
    name = nb::cast<std::string>(helper("as_dtype")(object).attr("name"));
  }
  if (name.ends_with("_ref")) name.resize(name.size() - 4);
  try {
    return dtype_from_tf(name);
  } catch (const Error& error) {
    throw nb::type_error(error.message().c_str());
  }
}

std::string dtype_name(DType dtype) { return std::string(dtype_info(dtype).tf_name); }

Shape shape_of_object(nb::handle object) {
  Dims dims;
  if (PyLong_Check(object.ptr())) {
    dims.push_back(nb::cast<int64_t>(object));
    return Shape(std::move(dims));
  }
  for (nb::handle element : nb::borrow<nb::object>(object)) {
    if (nb::hasattr(element, "value")) {
      nb::object value = element.attr("value");
      dims.push_back(value.is_none() ? kUnknown : nb::cast<int64_t>(value));
    } else {
      dims.push_back(element.is_none() ? kUnknown : nb::cast<int64_t>(nb::int_(nb::borrow(element))));
    }
  }
  return Shape(std::move(dims));
}

nb::object shape_object(const Shape& shape) {
  nb::list dims;
  for (const int64_t dim : shape) {
    if (dim == kUnknown) {
      dims.append(nb::none());
    } else {
      dims.append(dim);
    }
  }
  return nb::tuple(dims);
}

Keep::~Keep() {
  for (Py_buffer& buffer : buffers) PyBuffer_Release(&buffer);
}

bool Keep::holds(const Tensor& tensor) const {
  const auto* data = static_cast<const std::byte*>(tensor.raw());
  return std::ranges::any_of(buffers, [&](const Py_buffer& buffer) {
    const auto* begin = static_cast<const std::byte*>(buffer.buf);
    return data >= begin && data < begin + std::max<Py_ssize_t>(buffer.len, 1);
  });
}

Tensor tensor_of(nb::handle value, DType like, Keep* keep) {
  nb::object array = nb::borrow(value);
  Py_buffer view;
  if (!PyObject_CheckBuffer(value.ptr()) || PyBytes_Check(value.ptr()) ||
      PyObject_GetBuffer(value.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    nb::object wanted = like == DType::invalid ? nb::none() : nb::object(nb::str(dtype_name(like).c_str()));
    nb::tuple made = nb::cast<nb::tuple>(helper("plain_array")(value, wanted));
    array = made[0];
    const std::string kind = nb::cast<std::string>(made[1]);
    if (kind == "string") return strings_of(array);
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
      throw nb::python_error();
    }
    if (kind == "bfloat16") {
      Dims dims(view.shape, view.shape + view.ndim);
      Tensor tensor(DType::bf16, Shape(std::move(dims)));
      if (view.len > 0) std::memcpy(tensor.raw(), view.buf, static_cast<size_t>(view.len));
      PyBuffer_Release(&view);
      return like == DType::invalid ? tensor : tensor.cast(like);
    }
  }
  const DType dtype = dtype_of_format(view.format, static_cast<size_t>(view.itemsize));
  if (dtype == DType::invalid) {
    const std::string format = view.format == nullptr ? "" : view.format;
    PyBuffer_Release(&view);
    if (array.is(value)) {
      nb::tuple made = nb::cast<nb::tuple>(helper("plain_array")(
          value, like == DType::invalid ? nb::none() : nb::object(nb::str(dtype_name(like).c_str()))));
      if (nb::cast<std::string>(made[1]) == "string") return strings_of(made[0]);
      if (!made[0].is(value)) return tensor_of(nb::object(made[0]), like, nullptr);
    }
    throw nb::type_error(fmt::format("array, got elements '{}', expected numbers or texts", format).c_str());
  }
  Dims dims(view.shape, view.shape + view.ndim);
  const Tensor viewed = Tensor::view(dtype, Shape(std::move(dims)), view.buf);
  Tensor result;
  if (like != DType::invalid && like != dtype) {
    result = viewed.cast(like);
  } else if (keep != nullptr) {
    keep->buffers.push_back(view);
    return viewed;
  } else {
    result = viewed.clone();
  }
  PyBuffer_Release(&view);
  return result;
}

nb::object array_of(const Tensor& tensor) {
  if (!tensor.valid()) return nb::none();
  if (tensor.dtype() == DType::string) return strings_object(tensor);
  if (tensor.rank() == 0) {
    nb::object scalar = scalar_of(tensor);
    if (scalar.is_valid()) return scalar;
  }
  const char* format = format_of(tensor.dtype());
  if (format == nullptr) {
    throw nb::type_error(fmt::format("NumPy has no elements like {}", to_string(tensor.dtype())).c_str());
  }
  TensorMemory memory{tensor, {}, {}};
  Py_ssize_t stride = size_of(tensor.dtype());
  memory.shape.assign(tensor.shape().begin(), tensor.shape().end());
  memory.strides.resize(memory.shape.size());
  for (size_t i = memory.shape.size(); i-- > 0;) {
    memory.strides[i] = stride;
    stride *= std::max<Py_ssize_t>(memory.shape[i], 1);
  }
  nb::object owner = nb::cast(std::move(memory));
  if (tensor.rank() != 0 && tensor.dtype() != DType::bf16) {
    static nb::object* as_array = nullptr;
    return kept_attribute(as_array, "numpy", "asarray")(owner);
  }
  return helper("from_memory")(owner, tensor.rank() == 0,
                               tensor.dtype() == DType::bf16 ? nb::object(nb::str("bfloat16")) : nb::none());
}

DType symbolic_dtype(nb::handle value) {
  if (nb::isinstance<TensorHandle>(value)) return nb::cast<const TensorHandle&>(value).output.dtype();
  if (nb::isinstance<VariableHandle>(value)) {
    return nb::cast<const VariableHandle&>(value).variable.dtype();
  }
  return DType::invalid;
}

Input input_of(nb::handle value, DType like) {
  if (nb::isinstance<TensorHandle>(value)) return nb::cast<const TensorHandle&>(value).output;
  if (nb::isinstance<VariableHandle>(value)) {
    return nb::cast<const VariableHandle&>(value).variable;
  }
  PyObject* object = value.ptr();
  if (PyBool_Check(object)) return Input(object == Py_True);
  if (PyFloat_CheckExact(object)) return Input(PyFloat_AS_DOUBLE(object));
  if (PyLong_CheckExact(object)) {
    const auto number = nb::cast<int64_t>(value);
    if (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max()) {
      return Input(static_cast<int>(number));
    }
    return Input(number);
  }
  if (PyUnicode_Check(object)) return Input(nb::cast<std::string>(value));
  if (PyBytes_Check(object)) {
    return Input(std::string(PyBytes_AS_STRING(object), static_cast<size_t>(PyBytes_GET_SIZE(object))));
  }
  if (object == Py_None) throw nb::value_error("None values not supported.");
  if (nb::hasattr(value, "_as_graph_element")) {
    return input_of(value.attr("_as_graph_element")(), like);
  }
  // A list with tensors in it is stacked.
  if (PyList_Check(object) || PyTuple_Check(object)) {
    nb::object packed = helper("pack_tensors")(value);
    if (!packed.is_none()) return input_of(packed, like);
  }
  const Tensor tensor = tensor_of(value);
  const bool floats = is_floating(tensor.dtype()) && is_floating(like);
  const bool list = !PyObject_CheckBuffer(object) && is_numeric(tensor.dtype());
  if (like != DType::invalid && like != tensor.dtype() && is_numeric(like) && (floats || list)) {
    return tensor.cast(like);
  }
  return tensor;
}

Output output_of(nb::handle value, DType like) { return input_of(value, like).resolve(like); }

Operation operation_of(nb::handle value) {
  if (nb::isinstance<OperationHandle>(value)) {
    return nb::cast<const OperationHandle&>(value).operation;
  }
  if (nb::isinstance<TensorHandle>(value)) return nb::cast<const TensorHandle&>(value).output;
  if (nb::isinstance<VariableHandle>(value)) {
    return nb::cast<const VariableHandle&>(value).variable.value();
  }
  if (nb::hasattr(value, "op")) return operation_of(value.attr("op"));
  throw nb::type_error(fmt::format("{}, expected a Tensor or an Operation", nb::repr(value).c_str()).c_str());
}

Variable variable_of(nb::handle value) {
  if (!nb::isinstance<VariableHandle>(value)) {
    throw nb::type_error(fmt::format("{}, expected a Variable", nb::repr(value).c_str()).c_str());
  }
  return nb::cast<const VariableHandle&>(value).variable;
}

std::vector<int64_t> integers_of(nb::handle value) {
  std::vector<int64_t> result;
  if (PyLong_Check(value.ptr())) return {nb::cast<int64_t>(value)};
  if (nb::hasattr(value, "__index__")) return {nb::cast<int64_t>(value.attr("__index__")())};
  for (nb::handle element : nb::borrow<nb::object>(value)) {
    if (nb::hasattr(element, "value")) {
      nb::object known = element.attr("value");
      result.push_back(known.is_none() ? -1 : nb::cast<int64_t>(known));
    } else {
      result.push_back(element.is_none() ? -1 : nb::cast<int64_t>(nb::int_(nb::borrow(element))));
    }
  }
  return result;
}

Nest<Output> outputs_of(nb::handle value) {
  return nest_of<Output>(value, [](nb::handle leaf) { return output_of(leaf); });
}
nb::object outputs_object(const Nest<Output>& nest) {
  return nest_object<Output>(nest, [](const Output& leaf) { return wrap(leaf); });
}

Held::Held(nb::object object)
    : object_(new nb::object(std::move(object)), [](nb::object* held) {
        if (!Py_IsInitialized()) return;  // the process ends
        const nb::gil_scoped_acquire gil;
        delete held;
      }) {}

UserLine::UserLine() : scope_(user_line()) {}

void set_own_folders(std::vector<std::string> folders) { own_folders() = std::move(folders); }

void throw_building_error(const Error& error) {
  switch (error.code()) {
    case Code::invalid_argument:
    case Code::already_exists:
    case Code::failed_precondition:
    case Code::out_of_range:
      throw nb::value_error(error.message().c_str());
    case Code::not_found:
      throw nb::key_error(error.message().c_str());
    case Code::unimplemented:
      PyErr_SetString(PyExc_NotImplementedError, error.message().c_str());
      throw nb::python_error();
    default:
      throw error;
  }
}

}  // namespace systole::python
