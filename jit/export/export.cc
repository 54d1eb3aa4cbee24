#include "jit/export/export.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "ir/serialize.h"
#include "jit/compile.h"
#include "jit/export/c_names.h"
#include "jit/export/lengths.h"
#include "jit/llvm/compiler.h"
#include "jit/llvm/link.h"
#include "runtime/text.h"
#include "transforms/higher_order/custom_rule.h"

namespace ct {
namespace {

// A parameter's name: what the user calls it as far as C allows, and used once.
std::string parameter_name(std::string name, const std::string& otherwise, std::set<std::string>& taken) {
  if (name.empty()) name = otherwise;
  std::erase_if(name, [](unsigned char c) { return (c & 0xc0) == 0x80; });  // all but the first bytes of UTF-8
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 128 || !std::isalnum(byte)) c = '_';
  }
  if (std::isdigit(static_cast<unsigned char>(name[0]))) name = concat("_", name);
  if (!jit::can_name_parameter(name)) name += "_";
  if (!jit::can_name_parameter(name)) name = otherwise;  // reserved: two underscores in front, say
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

std::string header_text(const Graph& graph, const ExportOptions& options, const Plan& object, bool can_stop,
                        absl::Span<const jit::BoundedInput> lengths) {
  const std::string& name = options.name;
  // Words that the header uses itself.
  std::set<std::string> taken = {"workspace",
                                 name,
                                 concat(name, "_ARENA_BYTES"),
                                 concat(name, "_NO_MEMORY"),
                                 concat(name, "_BAD_LENGTH"),
                                 concat(name, "_STOPPED"),
                                 concat(name, "_stop")};
  std::string parameters, documentation;
  auto add = [&](const Aval& aval, const std::string& name, bool is_input, const std::string& remark) {
    documentation += concat(" *   ", name, ": ", dtype_name(aval.dtype()), shape_string(aval.shape()),
                            type_remark(aval.dtype()), remark, "\n");
    parameters += concat(parameters.empty() ? "" : ", ", is_input ? "const " : "", c_type(aval.dtype()), "* ", name);
  };
  const uint32_t num_parameters = graph.num_inputs() - static_cast<uint32_t>(options.constants.size());
  documentation += num_parameters == 0 ? "" : " * Inputs:\n";
  for (uint32_t i = 0; i < num_parameters; ++i) {
    std::string name = i < options.input_names.size() ? options.input_names[i] : "";
    if (name.empty() && i < graph.input_names().size()) name = graph.input_names()[i];
    const auto length = std::ranges::find(lengths, i, &jit::BoundedInput::input);
    const std::string remark = length == lengths.end() ? "" : concat(", a length: 0 to ", length->bound);
    add(graph.aval(i), parameter_name(name, concat("x", i), taken), true, remark);
  }
  documentation += " * Outputs, written by the call:\n";
  const std::vector<Aval> outputs = graph.output_avals();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = i < options.output_names.size() ? options.output_names[i] : "";
    add(outputs[i], parameter_name(name, concat("out", i), taken), false, "");
  }
  const std::string stop_text =
      can_stop ? concat("/* Told 1, calls in any thread return ", name,
                        "_STOPPED within milliseconds, with outputs half written, until it\n"
                        " * is told 0. A signal handler may call it. */\n"
                        "#define ",
                        name, "_STOPPED ", static_cast<int>(jit::kCStopped), "\nvoid ", name, "_stop(int stop);\n\n")
               : "";
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
      name, "_ARENA_BYTES ((size_t)", object.arena_bytes,
      ")\n\n"
      "/* What calls return besides 0. Then nothing was computed, and nothing was written. */\n"
      "#define ",
      name, "_NO_MEMORY ", static_cast<int>(jit::kCNoMemory), " /* there is none for ", name,
      "_ARENA_BYTES of scratch */\n"
      "#define ",
      name, "_BAD_LENGTH ", static_cast<int>(jit::kCLength), " /* a length is negative or larger than its bound */\n\n",
      "int ", name, "(", parameters.empty() ? "void" : parameters,
      ");\n\n"
      "/* The same with the caller's scratch memory: never allocates. `workspace` may be NULL when\n"
      " * ",
      name,
      "_ARENA_BYTES is 0. */\n"
      "int ",
      name, "_with_workspace(", parameters, parameters.empty() ? "" : ", ", "void* workspace);\n\n", stop_text,
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

}  // namespace

absl::Status check_export_name(const std::string& name) {
  const std::string problem = jit::problem_of_function_name(name);
  if (problem.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(concat("'", name, "' cannot name a C function: ", problem));
}

absl::StatusOr<std::vector<ExportedFile>> export_library(const GraphPtr& graph, const ExportOptions& options) {
  if (const absl::Status name = check_export_name(options.name); !name.ok()) return name;
  const auto target = jit::export_target({.triple = options.triple, .cpu = options.cpu, .vector_bits = 0});
  if (!target.ok()) return target.status();
  try {
    loop::Program program = lower_prepared(*prepare(graph, kAnyHost, Products::kDirect), options.name, kAnyHost);
    build_in(program, graph->num_inputs(), options.constants);
    std::vector<jit::BoundedInput> lengths;
    for (const jit::LengthInput& length : jit::find_length_inputs(*graph)) {
      if (length.input + options.constants.size() >= graph->num_inputs()) continue;
      const Aval& aval = graph->aval(length.input);
      lengths.push_back({length.input, aval.dtype(), aval.size(), length.bound});
    }
    const auto object = jit::emit_c_object(program, options.name, *target, lengths);
    if (!object.ok()) return object.status();
    const std::string& name = options.name;
    const std::string& code = object->codes[0].bytes;
    auto archive = jit::write_archive({{concat(name, ".o"), code}});
    if (!archive.ok()) return archive.status();
    auto shared = jit::link_shared_library({code}, concat("lib", name, ".so"));
    if (!shared.ok()) return shared.status();
    return std::vector<ExportedFile>{
        {concat(name, ".h"), header_text(*graph, options, *object, jit::may_take_long(program), lengths)},
        {concat("lib", name, ".a"), *std::move(archive)},
        {concat("lib", name, ".so"), *std::move(shared)},
        {concat(name, ".ctir"), serialize(*with_rules_captured(graph), {}, options.constants)}};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported) return absl::UnimplementedError(error.what());
    return absl::InternalError(error.what());
  }
}

}  // namespace ct
