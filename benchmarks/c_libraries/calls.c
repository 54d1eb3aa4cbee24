// Loops of calls, which Python times: exported functions in their variants, and those written by hand.
#include "by_hand.h"

#define ADD(NAME)                       \
  float many_##NAME(long calls) {       \
    float y = 0;                        \
    for (long i = 0; i < calls; ++i)    \
      if (NAME(y, &y, NULL)) return -1; \
    return y;                           \
  }
#include "add_bare.h"
ADD(add_bare)
#include "add_checked.h"
ADD(add_checked)
#include "add_dispatched.h"
ADD(add_dispatched)
float many_add_by_hand(long calls) {
  float y = 0;
  for (long i = 0; i < calls; ++i)
    if (plain_add(y, &y)) return -1;
  return y;
}

// A place for each library's workspace.
static _Alignas(64) unsigned char workspace[1 << 20];

#define STEP(NAME, SPACE)                                                                             \
  _Static_assert(sizeof(NAME##_params) == sizeof(struct params) && SPACE <= sizeof workspace, #NAME); \
  float many_##NAME(long calls, void* p, const float* x, const int32_t* y, float rate) {              \
    const ct_run run = {sizeof run, workspace, sizeof workspace, NULL, NULL, NULL};                   \
    float loss = -1;                                                                                  \
    for (long i = 0; i < calls; ++i)                                                                  \
      if (NAME(p, x, y, rate, &loss, &run)) return -1;                                                \
    return loss;                                                                                      \
  }
#include "step1_bare.h"
STEP(step1_bare, STEP1_BARE_WORKSPACE)
#include "step1_dispatched.h"
STEP(step1_dispatched, STEP1_DISPATCHED_WORKSPACE)
#include "step32_bare.h"
STEP(step32_bare, STEP32_BARE_WORKSPACE)
#include "step32_dispatched.h"
STEP(step32_dispatched, STEP32_DISPATCHED_WORKSPACE)

#define RAGGED(NAME, SPACE)                                                         \
  _Static_assert(SPACE <= sizeof workspace, #NAME);                                 \
  float many_##NAME(long calls, const NAME##_rows* rows, float* results) {          \
    const ct_run run = {sizeof run, workspace, sizeof workspace, NULL, NULL, NULL}; \
    for (long i = 0; i < calls; ++i)                                                \
      if (NAME(rows, results, &run)) return -1;                                     \
    return 0;                                                                       \
  }
#include "last1.h"
RAGGED(last1, LAST1_WORKSPACE)
#include "last16.h"
RAGGED(last16, LAST16_WORKSPACE)

#define BY_HAND(NAME)                                                                             \
  float many_##NAME(long calls, struct params* p, const float* x, const int32_t* y, float rate) { \
    float loss = -1;                                                                              \
    for (long i = 0; i < calls; ++i) loss = NAME(p, x, y, rate);                                  \
    return loss;                                                                                  \
  }
BY_HAND(plain_step1)
BY_HAND(plain_step32)
BY_HAND(fast_step1)
BY_HAND(fast_step32)

float many_blas_step(long calls, int batch, struct params* p, const float* x, const int32_t* y, float rate,
                     void* const functions[3]) {
  struct blas blas;
  __builtin_memcpy(&blas, functions, sizeof blas);
  float loss = -1;
  for (long i = 0; i < calls; ++i) loss = fast_blas_step(batch, p, x, y, rate, blas);
  return loss;
}
