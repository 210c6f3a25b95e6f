// Preloaded behind the library: a quota that statvfs does not tell. Blocks cannot be reserved in the run folder.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_in_run_folder(int file) {
  char name[64];
  char path[4096] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(name, path, sizeof path - 1);
  return size > 0 && strstr(path, "/run/") != NULL && strstr(path, "/scratch/") == NULL;
}

__attribute__((visibility("default"))) int fallocate(int file, int mode, off_t offset, off_t length) {
  if (!is_in_run_folder(file)) return ((int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate"))(file, mode, offset, length);
  errno = EDQUOT;
  return -1;
}
