// The bytes of runtime.cc, compiled: a relocatable object for this machine's kind of processor, of Linux and any libc.
#pragma once

#include <string_view>

namespace ct::cuda::exported {

std::string_view runtime_object();

}  // namespace ct::cuda::exported
