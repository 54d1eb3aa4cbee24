#include "device/host_call.h"

namespace ct {
namespace {

thread_local HostScope* current_scope = nullptr;

}  // namespace

HostScope::HostScope(const HostTable& table) : table_(table), enclosing_(current_scope) { current_scope = this; }
HostScope::~HostScope() { current_scope = enclosing_; }

bool call_host(uint32_t function, const void* const* inputs, void* const* outputs) noexcept {
  HostScope& scope = *current_scope;
  try {
    scope.table_.call(function, inputs, outputs);
    return true;
  } catch (...) {
    scope.failure_ = std::current_exception();
    return false;
  }
}

}  // namespace ct
