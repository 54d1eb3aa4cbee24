#include "jit/export/gpu_header.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <set>

#include "device/cuda/exported/program.h"
#include "jit/export/c_names.h"
#include "runtime/text.h"

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

// The arrays that a function takes.
struct Parameters {
  std::string list;           // "const float* x, float* out0"
  std::string documentation;  // a line of comment for each
};

// `words`: that the header uses itself.
Parameters parameters(const Graph& graph, const GpuLibraryOptions& options, std::initializer_list<std::string> words,
                      absl::Span<const jit::BoundedInput> lengths, std::string_view length_remark) {
  std::set<std::string> taken = words;
  taken.insert(options.name);
  Parameters made;
  auto add = [&](const Aval& aval, const std::string& name, bool is_input, const std::string& remark) {
    made.documentation += concat(" *   ", name, ": ", dtype_name(aval.dtype()), shape_string(aval.shape()),
                                 type_remark(aval.dtype()), remark, "\n");
    made.list += concat(made.list.empty() ? "" : ", ", is_input ? "const " : "", c_type(aval.dtype()), "* ", name);
  };
  const uint32_t num_parameters = graph.num_inputs() - static_cast<uint32_t>(options.constants.size());
  made.documentation += num_parameters == 0 ? "" : " * Inputs:\n";
  for (uint32_t i = 0; i < num_parameters; ++i) {
    std::string name = i < options.input_names.size() ? options.input_names[i] : "";
    if (name.empty() && i < graph.input_names().size()) name = graph.input_names()[i];
    const auto length = std::ranges::find(lengths, i, &jit::BoundedInput::input);
    const std::string remark = length == lengths.end() ? "" : concat(", a length: 0 to ", length->bound, length_remark);
    add(graph.aval(i), parameter_name(name, concat("x", i), taken), true, remark);
  }
  made.documentation += " * Outputs, written by the call:\n";
  const std::vector<Aval> outputs = graph.output_avals();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = i < options.output_names.size() ? options.output_names[i] : "";
    add(outputs[i], parameter_name(name, concat("out", i), taken), false, "");
  }
  return made;
}

// With what C++ needs around it.
std::string with_guards(const std::string& name, const std::string& remark, const std::string& declarations) {
  return concat("/* ", name, ": compiled by cotangent ", CT_VERSION, ". Link with lib", name, ".a or lib", name,
                ".so.\n *\n", remark, " */\n#ifndef COTANGENT_", name, "_H_\n#define COTANGENT_", name,
                "_H_\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                declarations, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

}  // namespace

std::string gpu_header(const Graph& graph, const GpuLibraryOptions& options, int64_t arena_bytes, bool has_products,
                       std::string_view architecture, absl::Span<const jit::BoundedInput> lengths) {
  using namespace cuda::exported;  // NOLINT(google-build-using-namespace): names of numbers
  const std::string& name = options.name;
  const auto [list, documentation] = parameters(
      graph, options,
      {"workspace", "stream", "CUstream", "CUstream_st", concat(name, "_ARENA_BYTES"), concat(name, "_NO_MEMORY"),
       concat(name, "_NO_DRIVER"), concat(name, "_NO_CUBLASLT"), concat(name, "_CUDA_ERROR"),
       concat(name, "_CUBLAS_ERROR"), concat(name, "_with_workspace"), concat(name, "_load"), concat(name, "_unload")},
      lengths, ", which is not checked");
  const std::string comma = list.empty() ? "" : ", ";
  const std::string product_codes =
      has_products ? concat("#define ", name, "_NO_CUBLASLT ", static_cast<int>(kNoProductLibrary),
                            " /* neither libcublasLt.so.13 nor libcublasLt.so.12 can be opened */\n#define ", name,
                            "_CUBLAS_ERROR ", static_cast<int>(kProductFailure),
                            " /* and above: this plus the cublasStatus_t of a call that failed */\n")
                   : "";
  return with_guards(
      name,
      concat(" * For GPUs of NVIDIA from ", architecture,
             " on. It needs the driver (libcuda.so.1), which the first call opens",
             has_products ? ",\n * and cuBLASLt (libcublasLt.so.13 or .12)" : "",
             "; where\n * the C library is older than glibc 2.34, link with -ldl -lpthread, too.\n"
             " *\n"
             " * Arrays are in the GPU's memory: contiguous in row-major order, aligned to their element type. Outputs "
             "overlap\n"
             " * neither each other nor any input. The current context of the calling thread is the one that the "
             "arrays and the\n"
             " * stream are of. Functions enqueue in the stream and return: arrays are read and written when its turn "
             "comes.\n"
             " * Calls from several threads at once are safe.\n"
             " *\n",
             documentation),
      concat(
          "typedef struct CUstream_st* CUstream; /* as in cuda.h; a cudaStream_t is one, too */\n\n"
          "/* Scratch memory of one call on the GPU, to be aligned to 256 bytes",
          has_products ? ", with what cuBLASLt may want of it" : "", ". */\n#define ", name, "_ARENA_BYTES ((size_t)",
          arena_bytes,
          ")\n\n"
          "/* What functions return besides 0. Then some of the work may have been enqueued. */\n#define ",
          name, "_NO_MEMORY ", static_cast<int>(kNoMemory), " /* of the host */\n#define ", name, "_NO_DRIVER ",
          static_cast<int>(kNoDriver), " /* libcuda.so.1 cannot be opened, or is older than for CUDA 11.8 */\n",
          has_products ? product_codes : "", "#define ", name, "_CUDA_ERROR ", static_cast<int>(kDriverFailure),
          " /* and above: this plus the CUresult of the call of the driver that failed */\n\n"
          "/* Scratch memory comes from the pool of the stream's device (cuMemAllocAsync). */\nint ",
          name, "(", list, comma,
          "CUstream stream);\n\n"
          "/* The same with the caller's scratch memory: never allocates. `workspace` may be NULL when\n * ",
          name, "_ARENA_BYTES is 0. The stream's next call may have the same. */\nint ", name, "_with_workspace(", list,
          comma,
          "void* workspace, CUstream stream);\n\n"
          "/* Loads the kernels and constants into the current context, which else the first call does, and waits for "
          "it:\n"
          " * before a stream is captured, say. */\nint ",
          name,
          "_load(CUstream stream);\n"
          "/* Gives back what the current context has of it, after all of the context's work; before the context is\n"
          " * destroyed, and while no call is under way in it. The next call loads again. */\nint ",
          name, "_unload(CUstream stream);\n\n"));
}

}  // namespace ct
