"""What CMake's find_package and pkg-config read, for a library's folder wherever it lies."""

from __future__ import annotations


def _imported(name: str, target: str, kind: str, file: str, libraries: str) -> str:
    return f"""\
if(EXISTS "${{CMAKE_CURRENT_LIST_DIR}}/{file}" AND NOT TARGET {name}::{target})
  add_library({name}::{target} {kind} IMPORTED)
  set_target_properties({name}::{target} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/{file}"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"{libraries})
endif()
"""


def cmake_text(name: str) -> str:
    """The text of ``NAMEConfig.cmake``: a target for each of the libraries that lie beside it."""
    static = _imported(name, f"{name}_static", "STATIC", f"lib{name}.a", "")
    shared = _imported(name, f"{name}_shared", "SHARED", f"lib{name}.so", "\n    IMPORTED_NO_SONAME TRUE")
    return f"""\
{static}{shared}if(NOT TARGET {name}::{name})
  if(TARGET {name}::{name}_static)
    add_library({name}::{name} INTERFACE IMPORTED)
    set_target_properties({name}::{name} PROPERTIES INTERFACE_LINK_LIBRARIES {name}::{name}_static)
  elseif(TARGET {name}::{name}_shared)
    add_library({name}::{name} INTERFACE IMPORTED)
    set_target_properties({name}::{name} PROPERTIES INTERFACE_LINK_LIBRARIES {name}::{name}_shared)
  else()
    set({name}_FOUND FALSE)
    set({name}_NOT_FOUND_MESSAGE "neither lib{name}.a nor lib{name}.so lies beside {name}Config.cmake")
  endif()
endif()
"""


def pkg_config_text(name: str, version: str) -> str:
    """The text of ``NAME.pc``, whose folder is the library's."""
    return f"""\
Name: {name}
Description: functions exported by cotangent
Version: {version}
Cflags: -I${{pcfiledir}}
Libs: -L${{pcfiledir}} -l{name}
"""
