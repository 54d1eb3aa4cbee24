// What a compiled program consists of and where its time goes: the groups of operations that became one piece of code,
// with their traffic and arithmetic (`describe`), and with their measured times (`profile`).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/compile.h"
#include "runtime/tensor.h"
#include "transforms/contract/report.h"

namespace ct::jit {

struct Group {
  std::string name;           // primitives, result, the user's line; several where loops were merged
  int64_t bytes_read = 0;     // of arrays, each element once
  int64_t bytes_written = 0;  // the same
  double operations = 0;      // of floating point: a fused multiply-add is two. Loops without a bound count once
  std::vector<double> starts = {}, seconds = {};  // by run: since the program started
};

// A variable that has memory of its own.
struct StoredVariable {
  std::string name;
  int64_t bytes;
  std::string reason;
};

struct Description {
  std::vector<Group> groups;
  std::vector<StoredVariable> stored;
  int64_t arena_bytes = 0;
  std::vector<Contraction> contractions;
};
Description describe(const GraphPtr& graph, Products products);

struct Profile {
  std::vector<StageTimes::Stage> stages;
  std::vector<Group> groups;    // of a device with memory of its own: its steps, all iterations together
  std::vector<double> seconds;  // by run, until it is done: of the program without clocks in it
  std::vector<Tensor> outputs;
};
// Compiles anew, without any cache, and runs `runs` times: on a back end's device, if that has memory of its own, else
// as code of the host.
absl::StatusOr<Profile> profile(const GraphPtr& graph, absl::Span<const Tensor> inputs, int runs,
                                const CompileOptions& options);

}  // namespace ct::jit
