/* Holds a pendulum at angles that change every two seconds, and says how well and how fast.
 * usage: loop [TICKS [TICKS.BIN]]: how many, and a file for what was measured, wanted and applied in each */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "control.h"

enum { MOST = 10000, TICKS_OF_A_TARGET = 200, SETTLED = 100, PARTS = 20 };
static const double period = 0.01; /* seconds */

/* The pendulum, heavier than the controller's model of it, and with a spring that this knows nothing of. */
static double angle, speed;
static void plant(double torque) {
  for (int part = 0; part < PARTS; ++part) {
    const double acceleration = (torque - 1.1 * sin(angle) - 0.2 * angle - 0.015 * speed) / 0.022;
    speed += period / PARTS * acceleration;
    angle += period / PARTS * speed;
  }
}

/* A sum of four random numbers is nearly normal. */
static double noise(double deviation) {
  static uint32_t seed = 1;
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    seed = seed * 1664525u + 1013904223u;
    sum += seed / 4294967296.0 - 0.5;
  }
  return deviation * sum * sqrt(3.0);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static control_state state;
static struct {
  float measured, target, torque;
} ticks[MOST];
static double took[MOST];

static _Alignas(64) union {
  unsigned char start[CONTROL_START_WORKSPACE + 1], tick[CONTROL_TICK_WORKSPACE + 1];
} workspace;
static const ct_run run = {sizeof run, &workspace, sizeof workspace, NULL, NULL, NULL};

int main(int argc, char** argv) {
  static const float targets[] = {1.0f, -0.5f, 1.4f, 0.0f, -1.2f};
  const long asked = argc > 1 ? strtol(argv[1], NULL, 10) : MOST;
  const size_t count = asked > SETTLED && asked < MOST ? (size_t)asked : MOST;
  double squares = 0, worst_error = 0;
  int settled = 0, status = control_start(&state, &run);
  for (size_t i = 0; status == CT_OK && i < count; ++i) {
    ticks[i].measured = (float)(angle + noise(1e-3));
    ticks[i].target = targets[i / TICKS_OF_A_TARGET % 5];
    const double begin = now();
    status = control_tick(&state, ticks[i].measured, ticks[i].target, &ticks[i].torque, &run);
    took[i] = now() - begin;
    plant((double)ticks[i].torque);
    if (i % TICKS_OF_A_TARGET >= SETTLED) {
      const double error = fabs(angle - (double)ticks[i].target);
      squares += error * error;
      worst_error = fmax(worst_error, error);
      ++settled;
    }
  }
  if (status != CT_OK) {
    fprintf(stderr, "loop: %s\n", control_error(status));
    return 1;
  }
  qsort(took, count, sizeof took[0], by_size);
  printf("%zu ticks: median %.1f us, worst %.1f us\n", count, took[count / 2] * 1e6, took[count - 1] * 1e6);
  printf("error once settled: root of mean square %.5f rad, worst %.5f rad\n", sqrt(squares / settled), worst_error);

  if (argc > 2) {
    FILE* file = fopen(argv[2], "wb");
    if (file == NULL || fwrite(ticks, sizeof ticks[0], count, file) != count || fclose(file) != 0) {
      fprintf(stderr, "loop: cannot write %s\n", argv[2]);
      return 1;
    }
  }
  return worst_error < 0.05 ? 0 : 1;
}
