#include "runtime/runtime.h"

#include <utility>

namespace ct {
namespace {

// Never destroyed: threads may compute until the process is gone.
Runtime& registered() {
  static auto* instance = new Runtime;
  return *instance;
}

}  // namespace

void register_runtime(Runtime runtime) { registered() = std::move(runtime); }
const Runtime& runtime() { return registered(); }

}  // namespace ct
