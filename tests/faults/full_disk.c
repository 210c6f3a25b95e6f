// Preloaded behind the library: from the FULL_FROM-th write by stdio on, the archive that is being
// written in the run directory is on a disk that is full. The kernel says so: the file's descriptor
// becomes /dev/full.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fill(FILE* file) {
  static int writes = 0;
  char name[64];
  char path[4096] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", fileno(file));
  if (readlink(name, path, sizeof path - 1) <= 0 || strstr(path, ".part/") == NULL) return;
  if (++writes < atoi(getenv("FULL_FROM"))) return;
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  dup2(full, fileno(file));
  close(full);
}

__attribute__((visibility("default"))) size_t fwrite(const void* from, size_t size, size_t count,
                                                     FILE* file) {
  fill(file);
  return ((size_t(*)(const void*, size_t, size_t, FILE*))dlsym(RTLD_NEXT, "fwrite"))(from, size,
                                                                                     count, file);
}

__attribute__((visibility("default"))) int fclose(FILE* file) {
  fill(file);
  return ((int (*)(FILE*))dlsym(RTLD_NEXT, "fclose"))(file);
}
