// What one writes without us: a call of a function of another file, and a training step in plain loops or by a BLAS.
// Compiled twice, with names that begin with NAME: as the standard says, and with -ffast-math.
#include "by_hand.h"

#include <math.h>
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

int JOIN(NAME, _add)(float x, float* y) {
  *y = x + 1;
  return 0;
}

// Scores to their cotangents, in place; the mean loss.
static float cotangents(int batch, float z[][OUT], const int32_t* y) {
  float loss = 0;
  for (int i = 0; i < batch; ++i) {
    float most = z[i][0], sum = 0;
    for (int j = 1; j < OUT; ++j) most = z[i][j] > most ? z[i][j] : most;
    const float right = z[i][y[i]] - most;
    for (int j = 0; j < OUT; ++j) sum += z[i][j] = expf(z[i][j] - most);
    loss += logf(sum) - right;
    for (int j = 0; j < OUT; ++j) z[i][j] = (z[i][j] / sum - (float)(j == y[i])) / (float)batch;
  }
  return loss / (float)batch;
}

// The batch is a constant where this is inlined.
static inline __attribute__((always_inline)) float step(const int batch, struct params* p, const float* x,
                                                        const int32_t* y, float rate) {
  float h[MOST][HIDDEN], z[MOST][OUT], d[MOST][HIDDEN];
  for (int i = 0; i < batch; ++i) {
    memcpy(h[i], p->b1, sizeof h[i]);
    for (int k = 0; k < IN; ++k)
      for (int j = 0; j < HIDDEN; ++j) h[i][j] += x[i * IN + k] * p->w1[k][j];
    for (int j = 0; j < HIDDEN; ++j) h[i][j] = tanhf(h[i][j]);
    memcpy(z[i], p->b2, sizeof z[i]);
    for (int k = 0; k < HIDDEN; ++k)
      for (int j = 0; j < OUT; ++j) z[i][j] += h[i][k] * p->w2[k][j];
  }
  const float loss = cotangents(batch, z, y);
  for (int i = 0; i < batch; ++i)
    for (int k = 0; k < HIDDEN; ++k) {
      float sum = 0;
      for (int j = 0; j < OUT; ++j) sum += z[i][j] * p->w2[k][j];
      d[i][k] = sum * (1 - h[i][k] * h[i][k]);
    }
  for (int i = 0; i < batch; ++i) {
    for (int k = 0; k < HIDDEN; ++k)
      for (int j = 0; j < OUT; ++j) p->w2[k][j] -= rate * h[i][k] * z[i][j];
    for (int j = 0; j < OUT; ++j) p->b2[j] -= rate * z[i][j];
    for (int k = 0; k < IN; ++k)
      for (int j = 0; j < HIDDEN; ++j) p->w1[k][j] -= rate * x[i * IN + k] * d[i][j];
    for (int j = 0; j < HIDDEN; ++j) p->b1[j] -= rate * d[i][j];
  }
  return loss;
}

float JOIN(NAME, _step1)(struct params* p, const float* x, const int32_t* y, float rate) {
  return step(1, p, x, y, rate);
}
float JOIN(NAME, _step32)(struct params* p, const float* x, const int32_t* y, float rate) {
  return step(32, p, x, y, rate);
}

// With one example the gradient is nothing but products of two vectors, which are added to the weights as they are.
float JOIN(NAME, _blas_step)(int batch, struct params* p, const float* x, const int32_t* y, float rate,
                             struct blas blas) {
  enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 };
  float h[MOST][HIDDEN], z[MOST][OUT], d[MOST][HIDDEN];
  for (int i = 0; i < batch; ++i) memcpy(h[i], p->b1, sizeof h[i]), memcpy(z[i], p->b2, sizeof z[i]);
  if (batch == 1)
    blas.gemv(ROWS, TRANSPOSED, IN, HIDDEN, 1, p->w1[0], HIDDEN, x, 1, 1, h[0], 1);
  else
    blas.gemm(ROWS, PLAIN, PLAIN, batch, HIDDEN, IN, 1, x, IN, p->w1[0], HIDDEN, 1, h[0], HIDDEN);
  for (int i = 0; i < batch; ++i)
    for (int j = 0; j < HIDDEN; ++j) h[i][j] = tanhf(h[i][j]);
  if (batch == 1)
    blas.gemv(ROWS, TRANSPOSED, HIDDEN, OUT, 1, p->w2[0], OUT, h[0], 1, 1, z[0], 1);
  else
    blas.gemm(ROWS, PLAIN, PLAIN, batch, OUT, HIDDEN, 1, h[0], HIDDEN, p->w2[0], OUT, 1, z[0], OUT);
  const float loss = cotangents(batch, z, y);
  if (batch == 1)
    blas.gemv(ROWS, PLAIN, HIDDEN, OUT, 1, p->w2[0], OUT, z[0], 1, 0, d[0], 1);
  else
    blas.gemm(ROWS, PLAIN, TRANSPOSED, batch, HIDDEN, OUT, 1, z[0], OUT, p->w2[0], OUT, 0, d[0], HIDDEN);
  for (int i = 0; i < batch; ++i)
    for (int j = 0; j < HIDDEN; ++j) d[i][j] *= 1 - h[i][j] * h[i][j];
  if (batch == 1) {
    blas.ger(ROWS, IN, HIDDEN, -rate, x, 1, d[0], 1, p->w1[0], HIDDEN);
    blas.ger(ROWS, HIDDEN, OUT, -rate, h[0], 1, z[0], 1, p->w2[0], OUT);
  } else {
    blas.gemm(ROWS, TRANSPOSED, PLAIN, IN, HIDDEN, batch, -rate, x, IN, d[0], HIDDEN, 1, p->w1[0], HIDDEN);
    blas.gemm(ROWS, TRANSPOSED, PLAIN, HIDDEN, OUT, batch, -rate, h[0], HIDDEN, z[0], OUT, 1, p->w2[0], OUT);
  }
  for (int i = 0; i < batch; ++i) {
    for (int j = 0; j < HIDDEN; ++j) p->b1[j] -= rate * d[i][j];
    for (int j = 0; j < OUT; ++j) p->b2[j] -= rate * z[i][j];
  }
  return loss;
}
