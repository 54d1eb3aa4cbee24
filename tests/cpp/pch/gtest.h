// As runtime/pch/standard.h, with GoogleTest's.
#ifndef CT_PCH_GTEST_H  // compiled as a main file, of which there is no once
#define CT_PCH_GTEST_H

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/pch/standard.h"

#endif
