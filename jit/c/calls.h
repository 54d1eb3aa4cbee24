// Functions of real numbers, which the loop IR has expanded where they are called (Statement::expansion): which
// statements are written as one call of one.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/loop/loop.h"

namespace ct::jit::c {

// What the statements up to `end` are.
struct Call {
  uint32_t end = 0;
  loop::Value result = loop::kNoValue;
  std::vector<loop::Value> arguments;
};

class Calls {
 public:
  explicit Calls(const loop::Program& program);

  // Statements of a block that stand together and that one function has been expanded to, and what is inside of these,
  // have a number: their run. 0: none. Where something else stands between, they are several runs.
  uint32_t run(loop::BlockId block, size_t position) const { return runs_[block][position]; }
  // Finds those that compute one value for the others, of something. `count`: how often values are used.
  void find(const std::function<uint32_t(loop::Value)>& count);
  bool is_call(uint32_t run) const { return is_call_[run]; }
  // The call that begins there, or null.
  const Call* at(loop::BlockId block, uint32_t begin) const;

 private:
  void number(loop::BlockId block, uint32_t around);
  void find_in(loop::BlockId block, const std::function<uint32_t(loop::Value)>& count);

  const loop::Program& program_;
  std::vector<std::vector<uint32_t>> runs_;  // by block and position
  std::vector<bool> is_call_ = {false};      // by run
  absl::flat_hash_map<std::pair<loop::BlockId, uint32_t>, Call> calls_;
};

}  // namespace ct::jit::c
