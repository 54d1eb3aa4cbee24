/* Trains a network on handwritten digits, and says how many of those that it has not seen it gets right.
 * usage: train DIGITS.BIN [STEPS [STATE.BIN]]: the data, which export.py writes, and a file for the trained state */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

enum { TRAIN = 1437, TEST = 360, ALL = TRAIN + TEST, PIXELS = 64 };

static unsigned char images[ALL][PIXELS], labels[ALL];
static model_state state; /* weights, velocities and the random key: a step updates them where they are */

/* What a call needs besides its arguments; here calls share it, as one runs at a time. */
static _Alignas(64) union {
  unsigned char init[MODEL_INIT_WORKSPACE + 1], step[MODEL_STEP_WORKSPACE + 1], predict[MODEL_PREDICT_WORKSPACE + 1];
} workspace;
static const ct_run run = {sizeof run, &workspace, sizeof workspace, NULL, NULL, NULL};

static int fail(int status) {
  fprintf(stderr, "train: %s\n", model_error(status));
  return 1;
}

int main(int argc, char** argv) {
  FILE* file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL || fread(images, sizeof images, 1, file) != 1 || fread(labels, sizeof labels, 1, file) != 1) {
    fprintf(stderr, "usage: train DIGITS.BIN [STEPS [STATE.BIN]]\n");
    return 2;
  }
  fclose(file);
  const long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 1500;

  int status = model_init(/* key */ 1, &state, &run);
  if (status != CT_OK) return fail(status);
  for (long step = 1; step <= steps; ++step) {
    const float rate = step <= 1000 ? 0.1f : 0.01f;
    float loss;
    status = model_step(&state, images[0], labels, rate, &loss, &run);
    if (status != CT_OK) return fail(status);
    if (step % 250 == 0) printf("step %ld, loss %.9g\n", step, (double)loss);
  }

  int right = 0;
  for (int i = TRAIN; i < ALL; ++i) {
    int32_t digit;
    status = model_predict(&state.params, images[i], &digit, &run);
    if (status != CT_OK) return fail(status);
    right += digit == labels[i];
  }
  printf("test accuracy %.4f\n", (double)right / (double)TEST);

  if (argc > 3) {
    file = fopen(argv[3], "wb");
    if (file == NULL || fwrite(&state, sizeof state, 1, file) != 1 || fclose(file) != 0) {
      fprintf(stderr, "train: cannot write %s\n", argv[3]);
      return 1;
    }
  }
  return 0;
}
