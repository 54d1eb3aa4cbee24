/* Runs the exported training step on arrays from files: input0.bin ... in, output0.bin ... out. No Python; libc alone.
 * usage: train_step_main DIRECTORY */
#include "train_step.h"

#include <stdio.h>
#include <stdlib.h>

enum { kBatch = 192, kPixels = 64, kHidden = 64, kClasses = 10 };

static float b1[kHidden], b2[kClasses], w1[kPixels * kHidden], w2[kHidden * kClasses], images[kBatch * kPixels];
static int32_t labels[kBatch];
static float present[kBatch];
static uint32_t key[2];
static float new_b1[kHidden], new_b2[kClasses], new_w1[kPixels * kHidden], new_w2[kHidden * kClasses];
static float loss[1], norms[kBatch];

static void transfer(const char* directory, const char* kind, int index, void* data, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%d.bin", directory, kind, index);
  const int reads = kind[0] == 'i';
  FILE* file = fopen(path, reads ? "rb" : "wb");
  const size_t done = !file ? 0 : reads ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);
  if (done != bytes || fclose(file) != 0) {
    fprintf(stderr, "cannot transfer %s\n", path);
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* in[] = {b1, b2, w1, w2, images, labels, present, key};
  const size_t in_bytes[] = {sizeof b1, sizeof b2, sizeof w1, sizeof w2, sizeof images, sizeof labels, sizeof present, sizeof key};
  for (int i = 0; i < 8; ++i) transfer(argv[1], "input", i, in[i], in_bytes[i]);
  const int status = train_step(b1, b2, w1, w2, images, labels, present, key, new_b1, new_b2, new_w1, new_w2, loss, norms);
  void* out[] = {new_b1, new_b2, new_w1, new_w2};
  const size_t out_bytes[] = {sizeof new_b1, sizeof new_b2, sizeof new_w1, sizeof new_w2};
  for (int i = 0; status == 0 && i < 4; ++i) transfer(argv[1], "output", i, out[i], out_bytes[i]);
  return status;
}
