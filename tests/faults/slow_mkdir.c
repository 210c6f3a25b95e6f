// Preloaded behind the library into one rank: making the run directory takes longer than any
// patience.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

__attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) {
  static int has_slept;
  if (strstr(path, "slow-run") != NULL && !has_slept) {
    has_slept = 1;
    nanosleep(&(struct timespec){.tv_sec = 6}, NULL);
  }
  return ((int (*)(const char*, mode_t))dlsym(RTLD_NEXT, "mkdir"))(path, mode);
}
