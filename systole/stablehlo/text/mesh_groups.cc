#include "systole/stablehlo/text/mesh_groups.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "systole/hlo/ir/sharding.h"
#include "systole/stablehlo/text/kept_symbols.h"

namespace systole::hlo::text {
namespace {

constexpr std::string_view kGroups = "replica_groups";
constexpr std::string_view kMeshAxes = "stablehlo.replica_group_mesh_axes";

// Reads the text of #stablehlo.replica_group_mesh_axes and of what is in it. The elements of lists
// may stand without their names.
class MeshGroupReader {
 public:
  MeshGroupReader(Lexer& lexer, const Module& module, size_t body)
      : lexer_(lexer), module_(module), offset_(body) {}

  Tensor read() {
    lexer_.seek(offset_);
    enter();
    name("mesh");
    const Mesh mesh = read_mesh();
    lexer_.expect(',', kGroups);
    name("axes");
    std::vector<AxisRef> axes;
    read_list([&] { axes.push_back(read_axis()); });
    lexer_.expect('>', kGroups);
    return groups_of(mesh, axes);
  }

 private:
  // The positions along an axis, or a part of it, as steps between the numbers of devices.
  struct Steps {
    int64_t stride;
    int64_t size;
  };

  Error wrong(std::string_view message) const {
    return lexer_.error_at(offset_, fmt::format("{}: {}", kGroups, message));
  }

  Error named_twice() const { return wrong("axes, got one twice, expected each once"); }

  void enter() {
    if (lexer_.peek().is(TokenKind::hash)) lexer_.take();
    lexer_.expect('<', kGroups);
  }
  void name(std::string_view word) {
    lexer_.expect_word(word, kGroups);
    lexer_.expect('=', kGroups);
  }
  int64_t read_size() {
    const Attribute value = read_attribute(lexer_);
    if (const auto* size = std::get_if<int64_t>(&value.value)) return *size;
    throw lexer_.error_at(value.offset, fmt::format("{}: size, expected an integer", kGroups));
  }
  template <typename Read>
  void read_list(const Read& read) {
    lexer_.expect('[', kGroups);
    if (lexer_.accept(']')) return;
    do read();
    while (lexer_.accept(','));
    lexer_.expect(']', kGroups);
  }

  Mesh read_mesh() {
    std::string text;
    if (lexer_.peek().is(TokenKind::symbol)) {
      const std::string mesh = unquote(lexer_.take().text.substr(1));
      const auto found = module_.attributes.find(std::string(kMeshAttribute) + mesh);
      if (found == module_.attributes.end()) {
        throw wrong(fmt::format("mesh, got @{}, expected one that is defined before", mesh));
      }
      text = found->second;
    } else {
      text = read_mesh_in_place();
    }
    try {
      return parse_mesh(text);
    } catch (const Error& error) {
      throw wrong(error.message());
    }
  }

  // Returns <axes = [<name = "x", size = 2>], device_ids = dense<...>> in the form of Shardy.
  std::string read_mesh_in_place() {
    std::string axes;
    std::string ids;
    enter();
    name("axes");
    read_list([&] {
      enter();
      name("name");
      const Token axis = lexer_.expect(TokenKind::string, kGroups, "the name of an axis");
      lexer_.expect(',', kGroups);
      name("size");
      axes += fmt::format("{}{}={}", axes.empty() ? "" : ", ", axis.text, read_size());
      lexer_.expect('>', kGroups);
    });
    if (lexer_.accept(',')) {
      name("device_ids");
      ids = ", device_ids=[" + read_device_ids() + "]";
    }
    lexer_.expect('>', kGroups);
    return "<[" + axes + "]" + ids + ">";
  }

  std::string read_device_ids() {
    const Attribute value = read_attribute(lexer_);
    if (const auto* ids = std::get_if<Tensor>(&value.value);
        ids != nullptr && ids->dtype() == DType::s64) {
      return fmt::format("{}", fmt::join(ids->data<int64_t>(), ", "));
    }
    throw lexer_.error_at(value.offset,
                          fmt::format("{}: device_ids, expected dense<...> of i64", kGroups));
  }

  AxisRef read_axis() {
    AxisRef axis;
    enter();
    name("name");
    axis.name = unquote(lexer_.expect(TokenKind::string, kGroups, "the name of an axis").text);
    if (lexer_.accept(',')) {
      name("sub_axis_info");
      if (lexer_.peek().is(TokenKind::hash)) lexer_.take();
      lexer_.expect('(', kGroups);
      axis.pre_size = read_size();
      lexer_.expect(')', kGroups);
      axis.size = read_size();
      if (axis.size < 1)
        throw wrong(fmt::format("part of an axis, got {}, expected 1 or more", axis.size));
    }
    lexer_.expect('>', kGroups);
    return axis;
  }

  Steps steps_of(const Mesh& mesh, const AxisRef& axis) const {
    int64_t stride = mesh.num_devices();
    for (const MeshAxis& of_mesh : mesh.axes) {
      stride /= of_mesh.size;
      if (of_mesh.name != axis.name) continue;
      if (axis.size == 0) return {stride, of_mesh.size};
      const bool fits = axis.pre_size >= 1 && axis.pre_size <= of_mesh.size &&
                        axis.size <= of_mesh.size &&
                        of_mesh.size % (axis.pre_size * axis.size) == 0;
      if (fits) return {stride * (of_mesh.size / (axis.pre_size * axis.size)), axis.size};
      throw wrong(fmt::format("part of the axis '{}' of size {}, got ({}){}, expected a divisor",
                              axis.name, of_mesh.size, axis.pre_size, axis.size));
    }
    throw wrong(
        fmt::format("axis, got '{}', expected one of the mesh {}", axis.name, mesh.to_string()));
  }

  // Devices that differ in the named axes alone are a group, in the order of these axes, the last
  // one fastest.
  Tensor groups_of(const Mesh& mesh, const std::vector<AxisRef>& axes) const {
    const int64_t devices = mesh.num_devices();
    lexer_.charge(offset_, devices * 3 * static_cast<int64_t>(sizeof(int64_t)));
    std::vector<Steps> steps;
    std::vector<int64_t> members = {0};
    for (const AxisRef& axis : axes) {
      const Steps along = steps.emplace_back(steps_of(mesh, axis));
      std::vector<int64_t> more;
      if (static_cast<int64_t>(members.size()) > devices / along.size) throw named_twice();
      for (const int64_t member : members) {
        for (int64_t k = 0; k < along.size; ++k) more.push_back(member + k * along.stride);
      }
      members = std::move(more);
    }
    std::vector<int64_t> ids;
    for (int64_t first = 0; first < devices; ++first) {
      const bool begins = std::ranges::all_of(
          steps, [first](const Steps& s) { return first / s.stride % s.size == 0; });
      if (!begins) continue;
      for (const int64_t member : members) ids.push_back(first + member);
    }
    if (static_cast<int64_t>(ids.size()) != devices) throw named_twice();
    if (!mesh.device_ids.empty()) {
      std::ranges::transform(ids, ids.begin(), [&](int64_t id) { return mesh.device_ids[id]; });
    }
    const auto size = static_cast<int64_t>(members.size());
    return {Shape({devices / size, size}), ids};
  }

  Lexer& lexer_;
  const Module& module_;
  size_t offset_;
};

}  // namespace

void flatten_mesh_groups(Lexer& lexer, const Module& module, ParsedOp& op) {
  for (Dictionary& dictionary : op.attributes) {
    for (NamedAttribute& entry : dictionary.entries) {
      if (entry.name != kGroups) continue;
      const auto* const groups = std::get_if<DialectAttribute>(&entry.attribute.value);
      if (groups == nullptr || groups->name != kMeshAxes) continue;
      const size_t position = lexer.position();
      entry.attribute.value = MeshGroupReader(lexer, module, groups->body).read();
      lexer.seek(position);
    }
  }
}

}  // namespace systole::hlo::text
