// Where the time of a compiled program goes, for `ct.profile` and `ct.explain`, which put it into words.
#include "jit/profile.h"

#include "python_bindings/array.h"
#include "python_bindings/graph.h"
#include "python_bindings/python.h"
#include "python_bindings/statuses.h"
#include "runtime/recording.h"

namespace ct::python {
namespace {

py::list groups_list(const std::vector<jit::Group>& groups) {
  py::list result;
  for (const jit::Group& group : groups) {
    py::dict entry;
    entry["name"] = group.name;
    entry["bytes_read"] = group.bytes_read;
    entry["bytes_written"] = group.bytes_written;
    entry["operations"] = group.operations;
    entry["starts"] = group.starts;
    entry["seconds"] = group.seconds;
    result.append(entry);
  }
  return result;
}

py::dict profile_graph(const GraphHandle& handle, const std::string& backend, const py::list& operands, int runs) {
  std::vector<Tensor> inputs;
  for (py::handle operand : operands) inputs.push_back(concrete(datum_from_python(operand)));
  CompileOptions options;
  options.backend = backend;
  options.products = config().products();
  auto profile = jit::profile(handle.graph, inputs, runs, options);
  if (!profile.ok()) throw_status(profile.status(), "profiling");
  py::list stages, outputs;
  for (const StageTimes::Stage& stage : profile->stages) stages.append(py::make_tuple(stage.name, stage.seconds));
  for (Tensor& output : profile->outputs) outputs.append(array_object(std::move(output)));
  py::dict result;
  result["stages"] = stages;
  result["groups"] = groups_list(profile->groups);
  result["seconds"] = profile->seconds;
  result["outputs"] = outputs;
  return result;
}

py::dict describe_graph(const GraphHandle& handle) {
  const jit::Description description = jit::describe(handle.graph, config().products());
  py::list stored;
  for (const jit::StoredVariable& variable : description.stored) {
    stored.append(py::make_tuple(variable.name, variable.bytes, variable.reason));
  }
  py::dict result;
  result["groups"] = groups_list(description.groups);
  result["stored"] = stored;
  result["arena_bytes"] = description.arena_bytes;
  py::list contractions;
  for (const Contraction& one : description.contractions) {
    contractions.append(py::make_tuple(one.name, one.formula, one.operations, one.blocks, one.bytes_avoided));
  }
  result["contractions"] = contractions;
  return result;
}

// What the loops of a call take that threads could share: a list of tuples, and the nanoseconds of the whole call.
py::tuple record_loops(const py::function& call, int parts) {
  LoopRecording recording(parts);
  call();
  const int64_t elapsed = recording.elapsed();
  py::list loops;
  for (const RecordedLoop& loop : recording.loops()) {
    loops.append(py::make_tuple(loop.extent, loop.multiple, loop.nanoseconds, loop.in_program, loop.began, loop.took,
                                loop.parts));
  }
  return py::make_tuple(loops, elapsed);
}

}  // namespace

void register_profile(py::module_& module) {
  module.def("profile_graph", profile_graph, py::arg("graph"), py::arg("backend"), py::arg("operands"),
             py::arg("runs"));
  module.def("describe_graph", describe_graph, py::arg("graph"));
  module.def("record_loops", record_loops, py::arg("call"), py::arg("parts"));
}

}  // namespace ct::python
