#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

// Hides /proc/<pid>/schedstat and the like, as a container does that masks it.

static int is_hidden(const char* path) {
  const char* name = strrchr(path, '/');
  return name != NULL && strcmp(name, "/schedstat") == 0;
}

#define HIDING(function)                                                                  \
  __attribute__((visibility("default"))) int function(const char* path, int flags, ...) { \
    if (is_hidden(path)) {                                                                \
      errno = ENOENT;                                                                     \
      return -1;                                                                          \
    }                                                                                     \
    va_list arguments;                                                                    \
    va_start(arguments, flags);                                                           \
    const mode_t mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(arguments, int) : 0;      \
    va_end(arguments);                                                                    \
    int (*next)(const char*, int, ...) = NULL;                                            \
    *(void**)&next = dlsym(RTLD_NEXT, #function);                                         \
    return next(path, flags, mode);                                                       \
  }

HIDING(open)
HIDING(open64)
