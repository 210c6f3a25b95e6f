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

#define HOOK __attribute__((visibility("hidden")))

HOOK megascope_region megascope_region_define(const char* name) {
  return hooks.region_define ? hooks.region_define(name) : MEGASCOPE_NONE;
}
HOOK void megascope_region_enter(megascope_region region) {
  if (hooks.region_enter) hooks.region_enter(region);
}
HOOK void megascope_region_leave(megascope_region region) {
  if (hooks.region_leave) hooks.region_leave(region);
}
HOOK void megascope_region_enter_at(megascope_region region, const megascope_where* where) {
  if (hooks.region_enter_at) hooks.region_enter_at(region, where);
}
HOOK void megascope_step_begin(int64_t step) {
  if (hooks.step_begin) hooks.step_begin(step);
}
HOOK void megascope_step_end(void) {
  if (hooks.step_end) hooks.step_end();
}
HOOK megascope_counter megascope_counter_define(const char* name, const char* unit) {
  return hooks.counter_define ? hooks.counter_define(name, unit) : MEGASCOPE_NONE;
}
HOOK void megascope_counter_set(megascope_counter counter, double value) {
  if (hooks.counter_set) hooks.counter_set(counter, value);
}
HOOK void megascope_mark(megascope_region name) {
  if (hooks.mark) hooks.mark(name);
}
HOOK int megascope_group_set(const char* name, int index, int size) {
  return hooks.group_set ? hooks.group_set(name, index, size) : -1;
}
HOOK int megascope_groups_set(const char* layout) {
  return hooks.groups_set ? hooks.groups_set(layout) : -1;
}
HOOK void megascope_tensor(const megascope_tensor_view* view) {
  if (hooks.tensor) hooks.tensor(view);
}
HOOK int megascope_wants_tensor(const char* name) {
  return hooks.wants_tensor ? hooks.wants_tensor(name) : 0;
}
HOOK int megascope_is_recording(void) { return hooks.is_recording ? hooks.is_recording() : 0; }
HOOK int megascope_save(void) { return hooks.save ? hooks.save() : -1; }
HOOK size_t megascope_request_poll(char* text, size_t size) {
  return hooks.request_poll ? hooks.request_poll(text, size) : 0;
}
HOOK void megascope_reply(const char* text) {
  if (hooks.reply) hooks.reply(text);
}
HOOK const char* megascope_last_error(void) { return hooks.last_error ? hooks.last_error() : ""; }
