/* Trains a network on handwritten digits with differential privacy, and says which share of those that it has not seen
 * it gets right.
 * usage: train DIGITS.BIN [STEPS [STATE.BIN]]: the data, which export.py writes, and a file for the state */
#include <stdio.h>
#include <stdlib.h>

#include "learner.h"

enum { TRAIN = 1437, TEST = 360, ALL = TRAIN + TEST, PIXELS = 64 };

static unsigned char images[ALL][PIXELS], labels[ALL];
static learner_state state; /* weights, and the random key: nobody else may know it */

static _Alignas(64) union {
  unsigned char init[LEARNER_INIT_WORKSPACE + 1], step[LEARNER_STEP_WORKSPACE + 1],
      accuracy[LEARNER_ACCURACY_WORKSPACE + 1];
} workspace;
static const ct_run run = {sizeof run, &workspace, sizeof workspace, NULL, NULL, NULL};

static int fail(int status) {
  fprintf(stderr, "train: %s\n", learner_error(status));
  return 1;
}

int main(int argc, char** argv) {
  FILE* file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL || fread(images, sizeof images, 1, file) != 1 || fread(labels, sizeof labels, 1, file) != 1) {
    fprintf(stderr, "usage: train DIGITS.BIN [STEPS [STATE.BIN]]\n");
    return 2;
  }
  fclose(file);
  const long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 300;

  int status = learner_init(/* key: a real one is 64 bits of the system's randomness */ 1, &state, &run);
  if (status != CT_OK) return fail(status);
  int least = TRAIN, most = 0;
  for (long step = 0; step < steps; ++step) {
    int32_t count;
    status = learner_step(&state, images[0], labels, &count, &run);
    if (status != CT_OK) return fail(status);
    least = count < least ? count : least;
    most = count > most ? count : most;
  }
  float share;
  status = learner_accuracy(&state.params, images[TRAIN], labels + TRAIN, &share, &run);
  if (status != CT_OK) return fail(status);
  printf("batches of %d to %d examples\ntest accuracy %.4f\n", least, most, (double)share);

  if (argc > 3) {
    file = fopen(argv[3], "wb");
    if (file == NULL || fwrite(&state, sizeof state, 1, file) != 1 || fclose(file) != 0) {
      fprintf(stderr, "train: cannot write %s\n", argv[3]);
      return 1;
    }
  }
  return 0;
}
