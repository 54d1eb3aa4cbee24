/* Trains the exported network on a Cortex-M7 and says over the serial port how it goes. No operating system, no C library.
 * The board is the AN500 image of Arm's MPS2, which qemu-system-arm has. */
#include <stddef.h>
#include <stdint.h>

#include "wave.h"

/* ---- what the compiler calls --------------------------------------------------------------------------------------- */
void* memcpy(void* to, const void* from, size_t n) {
  for (size_t i = 0; i < n; ++i) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
  return to;
}
void* memmove(void* to, const void* from, size_t n) {
  if ((uintptr_t)to < (uintptr_t)from) return memcpy(to, from, n);
  while (n-- > 0) ((unsigned char*)to)[n] = ((const unsigned char*)from)[n];
  return to;
}
void* memset(void* to, int value, size_t n) {
  for (size_t i = 0; i < n; ++i) ((unsigned char*)to)[i] = (unsigned char)value;
  return to;
}

/* ---- the serial port: Arm's CMSDK UART ----------------------------------------------------------------------------- */
#define UART ((volatile uint32_t*)0x40004000)
enum { DATA, STATE, CONTROL, DIVIDER = 4 };

static void print(const char* text) {
  for (; *text; ++text) {
    while (UART[STATE] & 1) {} /* full */
    UART[DATA] = (uint32_t)*text;
  }
}
static void print_number(uint32_t number) {
  char digits[11];
  int at = 10;
  digits[at] = 0;
  do digits[--at] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  print(digits + at);
}

/* ---- the program --------------------------------------------------------------------------------------------------- */
static wave_params params; /* in place: a step updates it where it is */
static unsigned char workspace[WAVE_STEP_WORKSPACE + 64] __attribute__((aligned(64)));

static int train(void) {
  const ct_run run = {sizeof run, workspace, sizeof workspace, NULL, NULL, NULL};
  const uint64_t key = 1;
  int status = wave_init(key, &params, &run);
  for (uint32_t step = 0; status == CT_OK && step <= 1000; ++step) {
    float loss;
    status = wave_step(&params, step, &loss, &run);
    if (status == CT_OK && step % 200 == 0) {
      print("step ");
      print_number(step);
      print(", loss ");
      print_number((uint32_t)(loss * 1e6f + 0.5f));
      print("e-6\n");
    }
  }
  return status;
}

static void leave(void) { /* tells qemu to end: semihosting, SYS_EXIT */
  register int r0 __asm__("r0") = 0x18;
  register int r1 __asm__("r1") = 0x20026;
  __asm__ volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
  for (;;) {}
}

void reset(void);
void reset(void) {
  *(volatile uint32_t*)0xE000ED88 |= 0xfu << 20; /* the floating-point unit */
  __asm__ volatile("dsb\n\tisb");
  UART[DIVIDER] = 16;
  UART[CONTROL] = 1;
  const int status = train();
  print(wave_error(status));
  print("\n");
  leave();
}

extern char top[];
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {(uintptr_t)top, (uintptr_t)reset};
