"""What CMake's find_package and pkg-config read, for a library's folder wherever it lies, or installed below a prefix."""

from __future__ import annotations


def _imported(name: str, target: str, kind: str, file: str, libraries: str) -> str:
    return f"""\
if(EXISTS "${{_{name}_libraries}}/{file}" AND NOT TARGET {name}::{target})
  add_library({name}::{target} {kind} IMPORTED)
  set_target_properties({name}::{target} PROPERTIES
    IMPORTED_LOCATION "${{_{name}_libraries}}/{file}"
    INTERFACE_INCLUDE_DIRECTORIES "${{_{name}_headers}}"{libraries})
endif()
"""


def cmake_text(name: str) -> str:
    """The text of ``NAMEConfig.cmake``: a target for each of the libraries that lie beside it.

    Or below a prefix: lib/cmake/NAME/NAMEConfig.cmake, lib/libNAME.a, include/NAME.h.
    """
    static = _imported(name, f"{name}_static", "STATIC", f"lib{name}.a", "")
    shared = _imported(name, f"{name}_shared", "SHARED", f"lib{name}.so", "\n    IMPORTED_NO_SONAME TRUE")
    return f"""\
set(_{name}_libraries "${{CMAKE_CURRENT_LIST_DIR}}")
set(_{name}_headers "${{CMAKE_CURRENT_LIST_DIR}}")
if(NOT EXISTS "${{_{name}_headers}}/{name}.h")
  get_filename_component(_{name}_libraries "${{CMAKE_CURRENT_LIST_DIR}}/../.." ABSOLUTE)
  get_filename_component(_{name}_headers "${{CMAKE_CURRENT_LIST_DIR}}/../../../include" ABSOLUTE)
endif()
{static}{shared}if(NOT TARGET {name}::{name})
  if(TARGET {name}::{name}_static)
    add_library({name}::{name} INTERFACE IMPORTED)
    set_target_properties({name}::{name} PROPERTIES INTERFACE_LINK_LIBRARIES {name}::{name}_static)
  elseif(TARGET {name}::{name}_shared)
    add_library({name}::{name} INTERFACE IMPORTED)
    set_target_properties({name}::{name} PROPERTIES INTERFACE_LINK_LIBRARIES {name}::{name}_shared)
  else()
    set({name}_FOUND FALSE)
    set({name}_NOT_FOUND_MESSAGE
        "neither lib{name}.a nor lib{name}.so lies beside {name}Config.cmake, or two folders above it with {name}.h in include")
  endif()
endif()
unset(_{name}_libraries)
unset(_{name}_headers)
"""


def cmake_version_text(version: str) -> str:
    """The text of ``NAMEConfigVersion.cmake``: a version serves those who ask for it or an earlier one of its first number."""
    return f"""\
set(PACKAGE_VERSION "{version}")
string(REGEX MATCH "^[0-9]+" _first "${{PACKAGE_VERSION}}")
if("${{PACKAGE_FIND_VERSION_MAJOR}}" STREQUAL _first AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
unset(_first)
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
