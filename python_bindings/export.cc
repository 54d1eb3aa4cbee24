// Export of graphs as C libraries, for processors and GPUs, and such libraries in this process.
#include <tuple>
#include <utility>

#include "ir/serialize.h"
#include "jit/export/c_names.h"
#include "jit/export/c_source.h"
#include "jit/export/gpu_library.h"
#include "jit/export/lengths.h"
#include "jit/export/library.h"
#include "jit/export/open_library.h"
#include "jit/export/saved_file.h"
#include "jit/store/ready_code.h"
#include "python_bindings/array.h"
#include "python_bindings/graph.h"
#include "python_bindings/python.h"
#include "python_bindings/tracebacks.h"
#include "runtime/status.h"
#include "runtime/text.h"
#include "transforms/higher_order/custom_rule.h"

namespace ct::python {
namespace {

[[noreturn]] void fail(const absl::Status& status) {
  note_site(status);
  const std::string message = "export: " + std::string(status.message());
  if (status.code() == absl::StatusCode::kUnavailable) {
    PyErr_SetString(PyExc_OSError, message.c_str());
    throw py::error_already_set();
  }
  throw Error(kind_of(status), message);
}

std::vector<Tensor> tensors(const py::list& arrays) {
  std::vector<Tensor> made;
  for (py::handle array : arrays) made.push_back(concrete(datum_from_python(array)));
  return made;
}

// (dtype of a number that is given by value, or "", bytes, alignment, written).
using ParameterTuple = std::tuple<std::string, int64_t, int64_t, bool>;

jit::CParameter parameter(const ParameterTuple& given) {
  const auto& [dtype, bytes, alignment, written] = given;
  jit::CParameter made{.kind = jit::CParameter::Kind::kArrays,
                       .dtype = DType::kFloat32,
                       .bytes = bytes,
                       .alignment = alignment,
                       .written = written};
  if (!dtype.empty()) {
    made.kind = jit::CParameter::Kind::kValue;
    made.dtype = dtype_from_name(dtype).value_or(DType::kFloat32);
  }
  return made;
}

using LeafPair = std::pair<uint32_t, int64_t>;  // parameter, bytes behind what it points to

std::vector<jit::CLeaf> leaves(const std::vector<LeafPair>& pairs) {
  std::vector<jit::CLeaf> made;
  made.reserve(pairs.size());
  for (const auto& [number, offset] : pairs) made.push_back({number, offset});
  return made;
}

LibraryFunction library_function(const std::string& symbol, const std::vector<ParameterTuple>& parameters,
                                 const std::vector<LeafPair>& inputs, const std::vector<LeafPair>& outputs,
                                 const std::vector<int>& pairs, const py::list& constants) {
  LibraryFunction function{.symbol = symbol,
                           .parameters = {},
                           .inputs = leaves(inputs),
                           .outputs = leaves(outputs),
                           .pairs = pairs,
                           .constants = tensors(constants)};
  for (const ParameterTuple& each : parameters) function.parameters.push_back(parameter(each));
  return function;
}

LibraryTarget target_named(const std::string& name, bool portable = false) {
  auto target = library_target(name, portable);
  if (!target.ok()) fail(target.status());
  return *std::move(target);
}

void register_libraries(py::module_& module) {
  py::class_<CompiledFunction>(module, "CompiledFunction", "A program, compiled for a library.")
      .def_property_readonly("workspace_bytes",
                             [](const CompiledFunction& self) { return jit::CWorkspace(self.function).bytes; })
      .def_property_readonly("copied_bytes",
                             [](const CompiledFunction& self) { return jit::CWorkspace(self.function).copied_bytes; })
      .def_property_readonly("arena_bytes", [](const CompiledFunction& self) { return self.function.arena_bytes; })
      .def_property_readonly("may_stop", [](const CompiledFunction& self) { return self.function.may_stop; })
      .def_property_readonly("shares_loops", [](const CompiledFunction& self) { return self.function.shares_loops; })
      .def_property_readonly("donations", [](const CompiledFunction& self) { return self.function.donations; })
      .def_readonly("nanoseconds", &CompiledFunction::nanoseconds)
      .def_readonly("bounded", &CompiledFunction::bounded)
      .def_readonly("stack_bytes", &CompiledFunction::stack_bytes);
  module.def("library_targets", &library_target_names);
  module.def("library_pointer_bits", [](const std::string& name) {
    const auto bits = pointer_bits(target_named(name));
    if (!bits.ok()) fail(bits.status());
    return *bits;
  });
  // The files that hold code for a target.
  module.def("library_code_files", [](const std::string& name) -> std::vector<std::string> {
    switch (target_named(name).kind) {
      case LibraryTarget::Kind::kBare:
        return {"a"};
      case LibraryTarget::Kind::kWasm:
        return {"a", "wasm", "mjs"};
      default:
        return {"a", "so"};
    }
  });
  module.def("library_statuses", [] {
    std::vector<std::tuple<int, std::string, std::string>> statuses;
    for (const jit::CStatusText& status : jit::c_statuses()) {
      statuses.emplace_back(status.status, status.name, status.text);
    }
    return statuses;
  });
  module.def(
      "compile_function",
      [](const GraphHandle& handle, const std::string& symbol, const std::vector<ParameterTuple>& parameters,
         const std::vector<LeafPair>& inputs, const std::vector<LeafPair>& outputs, const std::vector<int>& pairs,
         const py::list& constants, const std::string& target, bool portable) {
        const LibraryFunction function = library_function(symbol, parameters, inputs, outputs, pairs, constants);
        auto compiled = compile_function(handle.graph, function, target_named(target, portable));
        if (!compiled.ok()) fail(compiled.status());
        return *std::move(compiled);
      },
      py::arg("graph"), py::arg("symbol"), py::arg("parameters"), py::arg("inputs"), py::arg("outputs"),
      py::arg("pairs"), py::arg("constants"), py::arg("target"), py::arg("portable"));
  using FunctionOfSource =
      std::tuple<GraphHandle, std::string, std::vector<ParameterTuple>, std::vector<LeafPair>, std::vector<LeafPair>,
                 std::vector<int>, py::list, std::vector<std::string>, std::vector<std::string>>;
  py::class_<SourceOfFunction>(module, "SourceOfFunction", "A program as C source: what its function is given.")
      .def_property_readonly("inputs", [](const SourceOfFunction& self) { return self.program.inputs; })
      .def_property_readonly("outputs", [](const SourceOfFunction& self) { return self.program.outputs; })
      .def_property_readonly("takes_arena", [](const SourceOfFunction& self) { return self.program.takes_arena; })
      .def_property_readonly("takes_stop", [](const SourceOfFunction& self) { return self.program.takes_stop; })
      .def_property_readonly("arena", [](const SourceOfFunction& self) { return self.places.arena; })
      .def_property_readonly("temporaries", [](const SourceOfFunction& self) { return self.places.temporaries; })
      .def_property_readonly("workspace_bytes", [](const SourceOfFunction& self) { return self.places.bytes; })
      // (input, how many, the largest) of integers that are held against a bound
      .def_property_readonly("lengths", [](const SourceOfFunction& self) {
        std::vector<std::tuple<uint32_t, int64_t, int64_t>> lengths;
        for (const jit::BoundedInput& input : self.lengths) {
          lengths.emplace_back(input.input, input.elements, input.bound);
        }
        return lengths;
      });
  module.def(
      "library_source",
      [](const std::vector<FunctionOfSource>& given, const std::string& target, bool portable) {
        std::vector<SourceFunction> functions;
        for (const auto& [graph, symbol, parameters, inputs, outputs, pairs, constants, input_names, output_names] :
             given) {
          functions.push_back({graph.graph,
                               library_function(symbol, parameters, inputs, outputs, pairs, constants),
                               {symbol + "_program", input_names, output_names}});
        }
        auto source = library_source(functions, target_named(target, portable));
        if (!source.ok()) fail(source.status());
        return py::make_tuple(source->text, source->functions);
      },
      py::arg("functions"), py::arg("target"), py::arg("portable"));
  // The static library, and the shared one or the module.
  module.def("make_library",
             [](const std::string& name, const std::vector<CompiledFunction>& functions, const std::string& description,
                uint64_t signature, bool checks, const std::string& target) {
               const auto files = make_library(name, functions, description, signature, checks, target_named(target));
               if (!files.ok()) fail(files.status());
               return py::make_tuple(py::bytes(files->archive), py::bytes(files->linked));
             });

  py::class_<OpenLibrary, std::shared_ptr<OpenLibrary>>(module, "OpenLibrary", "An exported library in this process.")
      .def_property_readonly("signature", &OpenLibrary::signature)
      .def_property_readonly("description", &OpenLibrary::description)
      .def("check", &OpenLibrary::check)
      // Calls of the graph run the function from now on.
      .def("run", [](const OpenLibrary& self, const GraphHandle& handle, const std::string& symbol, int64_t arena_bytes,
                     bool asks_caller, const std::vector<int>& donations, int64_t nanoseconds) {
        Plan facts;
        facts.name = symbol;
        facts.arena_bytes = arena_bytes;
        facts.donations = donations;
        facts.nanoseconds = nanoseconds;
        auto loaded = self.load(*handle.graph, std::move(facts), symbol, asks_caller);
        if (!loaded.ok()) fail(loaded.status());
        set_ready_code(handle.graph, *std::move(loaded));
      });
  module.def("open_library", [](const std::string& path, const std::string& name) {
    auto library = OpenLibrary::open(path, name);
    if (!library.ok()) fail(library.status());
    return *std::move(library);
  });
}

void register_saved_files(py::module_& module) {
  module.attr("version") = std::string(library_version());
  module.def(
      "graph_section",
      [](const GraphHandle& handle, bool locations) {
        return py::bytes(serialize(*with_rules_captured(handle.graph), {.locations = locations, .directories = false}));
      },
      py::arg("graph"), py::arg("locations") = true);
  // A file of these sections, and of arrays one behind the other.
  module.def("save_sections",
             [](const std::vector<std::pair<std::string, std::string>>& sections, const py::list& arrays) {
               std::vector<SavedSection> made;
               made.reserve(sections.size() + 1);
               for (const auto& [name, bytes] : sections) made.push_back({name, bytes});
               return py::bytes(save_sections(std::move(made), tensors(arrays)));
             });
  module.def("has_sections", [](const py::bytes& bytes) { return has_sections(std::string_view(bytes)); });
  py::class_<SavedFile, std::shared_ptr<SavedFile>>(module, "SavedFile", "A file of sections, mapped.")
      .def(py::init([](const std::string& path) { return std::const_pointer_cast<SavedFile>(SavedFile::open(path)); }))
      .def("has", &SavedFile::has)
      .def("section",
           [](const SavedFile& self, const std::string& name) { return py::bytes(std::string(self.section(name))); })
      .def("graph",
           [](const SavedFile& self, const std::string& name) { return GraphHandle{deserialize(self.section(name))}; })
      // The last inputs of the graph, from an offset on; and where they end.
      .def("weights", [](const SavedFile& self, const GraphHandle& handle, uint32_t count, int64_t offset) {
        const auto avals = handle.graph->input_avals();
        if (count > avals.size()) {
          throw Error(ErrorKind::kCorruptFile, "a saved function takes fewer arrays than are saved with it")
              .hint("export it again")
              .see("corrupt-file");
        }
        py::list arrays;
        for (Tensor& array : self.weights(avals.last(count), offset)) {
          arrays.append(array_object(std::move(array)));
        }
        return py::make_tuple(arrays, offset);
      });
}

}  // namespace

void register_export(py::module_& module) {
  module.def("check_export_name", [](const std::string& name) {
    const std::string problem = jit::problem_of_function_name(name);
    if (!problem.empty()) {
      throw Error(ErrorKind::kValue, concat("export: '", name, "' cannot name a C function: ", problem))
          .hint("pass name=, a name of C that is not taken")
          .see("export-name");
    }
  });
  module.def("can_name_parameter", [](const std::string& name) { return jit::can_name_parameter(name); });
  // The files of a library for GPUs, by name.
  module.def("gpu_library",
             [](const GraphHandle& handle, const std::string& name, const std::vector<std::string>& input_names,
                const std::vector<std::string>& output_names, const py::list& constants, const std::string& target,
                bool product_library) {
               GpuLibraryOptions options;
               options.name = name;
               options.input_names = input_names;
               options.output_names = output_names;
               options.target = target;
               options.product_library = product_library;
               options.constants = tensors(constants);
               const auto library = gpu_library(handle.graph, options);
               if (!library.ok()) fail(library.status());
               py::dict files;
               for (const ExportedFile& file : *library) files[py::str(file.name)] = py::bytes(file.bytes);
               return files;
             });
  register_libraries(module);
  register_saved_files(module);
  // A saved graph and the values of its last inputs.
  module.def("load_program", [](const py::bytes& bytes) {
    SavedProgram program = deserialize_program(std::string_view(bytes));
    py::list constants;
    for (Tensor& constant : program.constants) constants.append(array_object(std::move(constant)));
    return py::make_tuple(GraphHandle{program.graph}, constants);
  });
  // Inputs that are lengths of ragged axes, with the sizes of these.
  module.def("length_inputs", [](const GraphHandle& handle) {
    py::list inputs;
    for (const jit::LengthInput& length : jit::find_length_inputs(*handle.graph)) {
      inputs.append(py::make_tuple(length.input, length.bound));
    }
    return inputs;
  });
}

}  // namespace ct::python
