// As runtime/pch/standard.h, with Python's.
#ifndef CT_PCH_PYTHON_H  // compiled as a main file, of which there is no once
#define CT_PCH_PYTHON_H

#include <Python.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "runtime/pch/standard.h"

#endif
