"""Writes a file's bytes as the C++ function that runtime_object.h declares: `embed.py FILE OUTPUT`."""

import sys
from pathlib import Path

data = Path(sys.argv[1]).read_bytes()
Path(sys.argv[2]).write_text(
    '#include "device/cuda/exported/runtime_object.h"\n\nnamespace ct::cuda::exported {\n\n'
    f"static constexpr unsigned char kBytes[] = {{{','.join(map(str, data))}}};\n\n"
    "std::string_view runtime_object() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }\n\n"
    "}  // namespace ct::cuda::exported\n"
)
