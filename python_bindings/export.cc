// Export of graphs as C libraries and PTX.
#include "jit/export.h"

#include "ir/serialize.h"
#include "python_bindings/graph.h"
#include "python_bindings/python.h"

namespace ct::python {
namespace {

[[noreturn]] void fail(const absl::Status& status) {
  const bool unsupported = status.code() == absl::StatusCode::kUnimplemented;
  throw Error(unsupported ? ErrorKind::kUnsupported : ErrorKind::kValue, "export: " + std::string(status.message()));
}

}  // namespace

void register_export(py::module_& module) {
  // Writes header, libraries and saved graph into a directory.
  module.def("export_library",
             [](const GraphHandle& handle, const std::string& name, const std::vector<std::string>& input_names,
                const std::vector<std::string>& output_names, const std::string& directory, const std::string& triple,
                const std::string& cpu, const py::list& constants) {
               ExportOptions options;
               options.name = name;
               options.input_names = input_names;
               options.output_names = output_names;
               options.triple = triple;
               options.cpu = cpu;
               for (py::handle constant : constants) options.constants.push_back(concrete(datum_from_python(constant)));
               auto library = export_library(handle.graph, options);
               if (!library.ok()) fail(library.status());
               const absl::Status written = write_library(*library, directory);
               if (!written.ok()) fail(written);
             });
  module.def("load_graph", [](const std::string& path) { return GraphHandle{load_graph(path)}; });
}

}  // namespace ct::python
