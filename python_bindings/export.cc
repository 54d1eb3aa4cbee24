// Export of graphs as C libraries, for processors and GPUs.
#include "jit/export/export.h"

#include "ir/serialize.h"
#include "jit/export/lengths.h"
#include "python_bindings/array.h"
#include "python_bindings/graph.h"
#include "python_bindings/python.h"

namespace ct::python {
namespace {

[[noreturn]] void fail(const absl::Status& status) {
  const std::string message = "export: " + std::string(status.message());
  if (status.code() == absl::StatusCode::kUnavailable) {
    PyErr_SetString(PyExc_OSError, message.c_str());
    throw py::error_already_set();
  }
  const bool unsupported = status.code() == absl::StatusCode::kUnimplemented;
  throw Error(unsupported ? ErrorKind::kUnsupported : ErrorKind::kValue, message);
}

}  // namespace

void register_export(py::module_& module) {
  module.def("check_export_name", [](const std::string& name) {
    if (const absl::Status status = check_export_name(name); !status.ok()) fail(status);
  });
  // The files of a library, by name.
  module.def("export_library",
             [](const GraphHandle& handle, const std::string& name, const std::vector<std::string>& input_names,
                const std::vector<std::string>& output_names, const std::string& triple, const std::string& cpu,
                const py::list& constants, const std::string& target, bool product_library) {
               ExportOptions options;
               options.name = name;
               options.input_names = input_names;
               options.output_names = output_names;
               options.triple = triple;
               options.cpu = cpu;
               options.target = target;
               options.product_library = product_library;
               for (py::handle constant : constants) options.constants.push_back(concrete(datum_from_python(constant)));
               const auto library = export_library(handle.graph, options);
               if (!library.ok()) fail(library.status());
               py::dict files;
               for (const ExportedFile& file : *library) files[py::str(file.name)] = py::bytes(file.bytes);
               return files;
             });
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
