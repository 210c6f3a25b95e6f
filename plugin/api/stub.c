/* libmegascope_hooks.a: the functions of megascope.h as applications link them. Each function tests
 * one pointer and calls libmegascope.so, or does nothing. The functions have hidden visibility, so
 * that they do not hide the library's functions of the same names.
 *
 * Versions: the stub and the library may be of different versions. The stub uses the table entries
 * that both know; a function that the library lacks is a no-op. */
#define _GNU_SOURCE
#include "plugin/api/megascope/megascope.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Entries that the library provides; the others are null. Written before main only. */
static megascope_hooks_table hooks;

/* Returns the table of the library that NVTX_INJECTION64_PATH names, or NULL. NVTX opens that
 * library at the first NVTX call, which may come late or never. Injection libraries of other tools
 * are not opened. */
static void* table_of_nvtx_injection(void) {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  const char* slash = path != NULL ? strrchr(path, '/') : NULL;
  const char* file = slash != NULL ? slash + 1 : path;
  if (file == NULL || strncmp(file, "libmegascope.so", strlen("libmegascope.so")) != 0) return NULL;
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  return library != NULL ? dlsym(library, "megascope_hooks_v1") : NULL;
}

/* Copies the entries that lie within the size that the library states, whole entries only. */
static void take_common_entries(const megascope_hooks_table* found) {
  size_t bytes = found->size_bytes < sizeof hooks ? found->size_bytes : sizeof hooks;
  bytes -= bytes % sizeof(void*);
  memcpy(&hooks, found, bytes);
}

/* Runs before the constructors of the application, which may call hooks. */
__attribute__((constructor(101))) static void find_hooks(void) {
  const void* found = dlsym(RTLD_DEFAULT, "megascope_hooks_v1");
  if (found == NULL) found = table_of_nvtx_injection();
  if (found != NULL) take_common_entries((const megascope_hooks_table*)found);
}

#define MEGASCOPE_HOOK(type, name, parameters, arguments, absent)          \
  __attribute__((visibility("hidden"))) type megascope_##name parameters { \
    return hooks.name ? hooks.name arguments : (absent);                   \
  }
#define MEGASCOPE_HOOK_WITHOUT_RESULT(name, parameters, arguments)         \
  __attribute__((visibility("hidden"))) void megascope_##name parameters { \
    if (hooks.name) hooks.name arguments;                                  \
  }
#include "plugin/api/hooks.inc"
