// What programs call on the host: primitives that a library or the front end computes (structures::HostCall), each with
// its attributes, types and the user's line. Lowering writes the table down; generated code knows positions in it only
// (device/host_call.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/loaded.h"
#include "ir/graph.h"
#include "ir/primitive.h"

namespace ct::jit {

struct HostFunction {
  const Primitive* primitive = nullptr;
  AttrsPtr attrs = nullptr;
  Avals inputs = {};
  Avals outputs = {};
  std::vector<structures::HostCall::SizedAxis> unread = {};  // ReferenceInput's
  LocationId location = kNoLocation;
  GraphPtr graph = nullptr;           // instead of a primitive: a whole program, which is interpreted
  std::function<void()> action = {};  // instead of both: a clock, say
};

class HostFunctions final : public HostTable {
 public:
  // Its position.
  uint32_t add(HostFunction function) {
    functions_.push_back(std::move(function));
    return static_cast<uint32_t>(functions_.size() - 1);
  }
  size_t size() const { return functions_.size(); }

  std::vector<std::string> texts() const override;
  // Throws what the primitive's reference rule throws; an Error with the primitive's name and the user's line.
  void call(uint32_t function, const void* const* inputs, void* const* outputs) const override;

 private:
  std::vector<HostFunction> functions_;
};

}  // namespace ct::jit
