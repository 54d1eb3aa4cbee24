/* Draws from the posterior of a regression, and prints its means and deviations beside the exact ones.
 * usage: sample [DRAWS.BIN], a file for the draws; Ctrl-C ends the call */
#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "regression.h"

enum { POINTS = 50, WEIGHTS = 3, CHAINS = 4, DRAWS = 1000 };

static float x[POINTS][WEIGHTS], y[POINTS], draws[CHAINS][DRAWS][WEIGHTS];

static _Alignas(64) union {
  unsigned char data[REGRESSION_DATA_WORKSPACE + 1], sample[REGRESSION_SAMPLE_WORKSPACE + 1],
      posterior[REGRESSION_POSTERIOR_WORKSPACE + 1];
} workspace;

/* All chains are one call, so it looks now and then whether it is to end. */
static volatile int stop;
static void interrupted(int number) {
  (void)number;
  stop = 1;
}

int main(int argc, char** argv) {
  const ct_run run = {sizeof run, &workspace, sizeof workspace, &stop, NULL, NULL};
  float acceptance, exact_mean[WEIGHTS], exact_deviation[WEIGHTS];
  signal(SIGINT, interrupted);
  int status = regression_data(/* key */ 1, x[0], y, &run);
  if (status == CT_OK) status = regression_posterior(x[0], y, exact_deviation, exact_mean, &run);
  if (status == CT_OK) status = regression_sample(/* key */ 2, x[0], y, &acceptance, draws[0][0], &run);
  if (status != CT_OK) {
    fprintf(stderr, "sample: %s\n", regression_error(status));
    return 1;
  }

  printf("%.3f of the proposals accepted\n", (double)acceptance);
  for (int weight = 0; weight < WEIGHTS; ++weight) {
    const int count = CHAINS * DRAWS;
    double sum = 0, squares = 0;
    for (int i = 0; i < count; ++i) sum += (double)draws[i / DRAWS][i % DRAWS][weight];
    for (int i = 0; i < count; ++i) squares += pow((double)draws[i / DRAWS][i % DRAWS][weight] - sum / count, 2);
    printf("weight %d: mean %.4f (exact %.4f), deviation %.4f (exact %.4f)\n", weight, sum / count,
           (double)exact_mean[weight], sqrt(squares / count), (double)exact_deviation[weight]);
  }

  if (argc > 1) {
    FILE* file = fopen(argv[1], "wb");
    if (file == NULL || fwrite(draws, sizeof draws, 1, file) != 1 || fclose(file) != 0) {
      fprintf(stderr, "sample: cannot write %s\n", argv[1]);
      return 1;
    }
  }
  return 0;
}
