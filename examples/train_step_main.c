/* Runs the exported training step on arrays from files: parameters in and out of params.bin, the batch from the others.
 * No Python; libc alone. usage: train_step_main DIRECTORY */
#include "train_step.h"

#include <stdio.h>
#include <stdlib.h>

enum { kBatch = 192, kPixels = 64 };

static train_step_params params;
static float images[kBatch][kPixels], present[kBatch], norms[kBatch];
static int32_t labels[kBatch];
static uint32_t key[2];

static void transfer(const char* directory, const char* name, const char* mode, void* data, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.bin", directory, name);
  FILE* file = fopen(path, mode);
  const size_t done = !file ? 0 : mode[0] == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);
  if (done != bytes || fclose(file) != 0) {
    fprintf(stderr, "cannot transfer %s\n", path);
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const struct { const char* name; void* data; size_t bytes; } in[] = {
      {"b1", params.b1, sizeof params.b1}, {"b2", params.b2, sizeof params.b2}, {"w1", params.w1, sizeof params.w1},
      {"w2", params.w2, sizeof params.w2}, {"images", images, sizeof images},   {"labels", labels, sizeof labels},
      {"present", present, sizeof present}, {"key", key, sizeof key}};
  for (size_t i = 0; i < sizeof in / sizeof in[0]; ++i) transfer(argv[1], in[i].name, "rb", in[i].data, in[i].bytes);
  ct_run run = {sizeof run, aligned_alloc(64, TRAIN_STEP_WORKSPACE), TRAIN_STEP_WORKSPACE, NULL, NULL, NULL};
  float loss;
  const int status = train_step(&params, &images[0][0], labels, present, key, &loss, norms, &run);
  if (status != CT_OK) {
    fprintf(stderr, "train_step: %s\n", train_step_error(status));
    return 1;
  }
  for (size_t i = 0; i < 4; ++i) transfer(argv[1], in[i].name, "wb", in[i].data, in[i].bytes);
  free(run.workspace);
  return 0;
}
