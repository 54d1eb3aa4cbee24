#include "jit/export.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "ir/serialize.h"
#include "ir/text.h"
#include "jit/compile.h"
#include "jit/link.h"
#include "jit/llvm/compiler.h"

namespace ct {
namespace {

constexpr std::string_view kKeywords[] = {
    "auto",     "break",  "case",     "char",   "const",    "continue", "default", "do",     "double",    "else",
    "enum",     "extern", "float",    "for",    "goto",     "if",       "inline",  "int",    "long",      "register",
    "restrict", "return", "short",    "signed", "sizeof",   "static",   "struct",  "switch", "typedef",   "union",
    "unsigned", "void",   "volatile", "while",  "class",    "new",      "delete",  "this",   "template",  "private",
    "public",   "try",    "catch",    "throw",  "operator", "bool",     "true",    "false",  "namespace", "using"};

bool is_identifier(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  const bool letters =
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return letters && std::find(std::begin(kKeywords), std::end(kKeywords), name) == std::end(kKeywords);
}

// A parameter's name: what the user calls it as far as C allows, and used once.
std::string parameter_name(std::string name, const std::string& otherwise, std::set<std::string>& taken) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (!is_identifier(name) || name == "workspace") name = otherwise;
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = concat(name, "_", i);
  return unique;
}

std::string c_type(DType dtype) {
  if (is_float8(dtype)) return "uint8_t";
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return "uint8_t";
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kUInt16:
      return "uint16_t";
    case DType::kFloat32:
    case DType::kComplex64:
      return "float";
    case DType::kFloat64:
    case DType::kComplex128:
      return "double";
    case DType::kKey:
      return "uint64_t";
    default:
      return concat(dtype_name(dtype), "_t");
  }
}

std::string type_remark(DType dtype) {
  if (is_complex(dtype)) return ", pairs (real, imaginary)";
  if (is_bool(dtype)) return ", 0 or 1";
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) return ", as its 16 bits";
  if (is_float8(dtype)) return ", as its 8 bits";
  return "";
}

std::string header_text(const Graph& graph, const ExportOptions& options, int64_t arena_bytes) {
  std::set<std::string> taken;
  std::string parameters, documentation;
  auto add = [&](const Aval& aval, const std::string& name, bool is_input) {
    documentation += concat(" *   ", name, ": ", dtype_name(aval.dtype()), shape_string(aval.shape()),
                            type_remark(aval.dtype()), "\n");
    parameters += concat(parameters.empty() ? "" : ", ", is_input ? "const " : "", c_type(aval.dtype()), "* ", name);
  };
  const uint32_t num_parameters = graph.num_inputs() - static_cast<uint32_t>(options.constants.size());
  documentation += num_parameters == 0 ? "" : " * Inputs:\n";
  for (uint32_t i = 0; i < num_parameters; ++i) {
    std::string name = i < options.input_names.size() ? options.input_names[i] : "";
    if (name.empty() && i < graph.input_names().size()) name = graph.input_names()[i];
    add(graph.aval(i), parameter_name(name, concat("x", i), taken), true);
  }
  documentation += " * Outputs, written by the call:\n";
  const std::vector<Aval> outputs = graph.output_avals();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = i < options.output_names.size() ? options.output_names[i] : "";
    add(outputs[i], parameter_name(name, concat("out", i), taken), false);
  }
  const std::string& name = options.name;
  return concat(
      "/* ", name, ": compiled by cotangent ", CT_VERSION, ". Link with lib", name, ".a or lib", name,
      ".so.\n"
      " *\n"
      " * Arrays are contiguous in row-major order, aligned to their element type. Outputs overlap neither each other\n"
      " * nor any input. Calls from several threads at once are safe.\n"
      " *\n",
      documentation,
      " */\n"
      "#ifndef COTANGENT_",
      name,
      "_H_\n"
      "#define COTANGENT_",
      name,
      "_H_\n\n"
      "#include <stddef.h>\n"
      "#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      "/* Scratch memory of one call, to be aligned to 64 bytes. */\n"
      "#define ",
      name, "_ARENA_BYTES ((size_t)", arena_bytes,
      ")\n\n"
      "/* Returns 0, or 1 if there is no memory for ",
      name,
      "_ARENA_BYTES of scratch (then nothing was computed). */\n"
      "int ",
      name, "(", parameters.empty() ? "void" : parameters,
      ");\n\n"
      "/* The same with the caller's scratch memory: never allocates, returns 0. `workspace` may be NULL when\n"
      " * ",
      name,
      "_ARENA_BYTES is 0. */\n"
      "int ",
      name, "_with_workspace(", parameters, parameters.empty() ? "" : ", ",
      "void* workspace);\n\n"
      "#ifdef __cplusplus\n}\n#endif\n\n"
      "#endif\n");
}

// Inputs whose values are known become constants of the program.
void build_in(loop::Program& program, uint32_t num_inputs, const std::vector<Tensor>& constants) {
  CT_CHECK(constants.size() <= num_inputs);
  const auto first = static_cast<int64_t>(num_inputs - constants.size());
  for (loop::Buffer& buffer : program.buffers) {
    if (buffer.kind != loop::BufferKind::kInput || buffer.position < first) continue;
    const Tensor& value = constants[static_cast<size_t>(buffer.position - first)];
    buffer.kind = loop::BufferKind::kConstant;
    buffer.position = 0;
    buffer.bytes.assign(value.as<char>(), static_cast<size_t>(value.aval().bytes()));
  }
}

absl::Status write_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".part";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) return absl::InternalError(concat("cannot write ", path, ": ", std::strerror(errno)));
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) return absl::InternalError(concat("cannot write ", path, ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExportedLibrary> export_library(const GraphPtr& graph, const ExportOptions& options) {
  if (!is_identifier(options.name)) {
    return absl::InvalidArgumentError(
        concat("'", options.name, "' cannot name a C function: use letters, digits and underscores"));
  }
  try {
    loop::Program program = lower_prepared(*prepare(graph, Home::kLibrary), options.name);
    build_in(program, graph->num_inputs(), options.constants);
    const auto object =
        jit::emit_c_object(program, options.name, {.triple = options.triple, .cpu = options.cpu, .vector_bits = 0});
    if (!object.ok()) return object.status();
    ExportedLibrary library;
    library.name = options.name;
    library.header = header_text(*graph, options, object->arena_bytes);
    auto archive = jit::write_archive({{concat(options.name, ".o"), object->objects[0]}});
    if (!archive.ok()) return archive.status();
    library.static_library = *std::move(archive);
    auto shared = jit::link_shared_library({object->objects[0]}, concat("lib", options.name, ".so"));
    if (!shared.ok()) return shared.status();
    library.shared_library = *std::move(shared);
    library.graph = serialize(*graph);
    return library;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) return absl::UnimplementedError(error.what());
    return absl::InternalError(error.what());
  }
}

absl::Status write_library(const ExportedLibrary& library, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return absl::InternalError(concat("cannot create ", directory, ": ", error.message()));
  const std::pair<std::string, const std::string*> files[] = {
      {concat(library.name, ".h"), &library.header},
      {concat("lib", library.name, ".a"), &library.static_library},
      {concat("lib", library.name, ".so"), &library.shared_library},
      {concat(library.name, ".ctir"), &library.graph},
  };
  for (const auto& [name, bytes] : files) {
    if (absl::Status status = write_file(concat(directory, "/", name), *bytes); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace ct
