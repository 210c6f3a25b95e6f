/* libmegascope_hooks.a: the hook API in the program itself. Each function tests one pointer. It
 * does not define what libmegascope.so calls itself by: a program's own definition would hide that.
 */
#define _GNU_SOURCE
#include "plugin/api/megascope/megascope.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const megascope_hooks_table* hooks;

/* Where the library is only named to NVTX, which opens it when the program first calls NVTX, if
 * ever. Another tool's is left alone. */
static void* named_to_nvtx(void) {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  const char* slash = path != NULL ? strrchr(path, '/') : NULL;
  const char* file = slash != NULL ? slash + 1 : path;
  if (file == NULL || strncmp(file, "libmegascope.so", strlen("libmegascope.so")) != 0) return NULL;
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  return library != NULL ? dlsym(library, "megascope_hooks_v1") : NULL;
}

__attribute__((constructor(101))) static void find_hooks(void) {
  const megascope_hooks_table* found = (const megascope_hooks_table*)dlsym(RTLD_DEFAULT,
                                                                           "megascope_hooks_v1");
  if (found == NULL) found = (const megascope_hooks_table*)named_to_nvtx();
  if (found != NULL && found->size_bytes >= sizeof *found) hooks = found;
}

#define HOOK __attribute__((visibility("hidden")))

HOOK megascope_region megascope_region_define(const char* name) {
  return hooks ? hooks->region_define(name) : MEGASCOPE_NONE;
}
HOOK void megascope_region_enter(megascope_region region) {
  if (hooks) hooks->region_enter(region);
}
HOOK void megascope_region_leave(megascope_region region) {
  if (hooks) hooks->region_leave(region);
}
HOOK void megascope_region_enter_at(megascope_region region, const megascope_where* where) {
  if (hooks) hooks->region_enter_at(region, where);
}
HOOK void megascope_step_begin(int64_t step) {
  if (hooks) hooks->step_begin(step);
}
HOOK void megascope_step_end(void) {
  if (hooks) hooks->step_end();
}
HOOK megascope_counter megascope_counter_define(const char* name, const char* unit) {
  return hooks ? hooks->counter_define(name, unit) : MEGASCOPE_NONE;
}
HOOK void megascope_counter_set(megascope_counter counter, double value) {
  if (hooks) hooks->counter_set(counter, value);
}
HOOK void megascope_mark(megascope_region name) {
  if (hooks) hooks->mark(name);
}
HOOK int megascope_group_set(const char* name, int index, int size) {
  return hooks ? hooks->group_set(name, index, size) : -1;
}
HOOK int megascope_groups_set(const char* layout) { return hooks ? hooks->groups_set(layout) : -1; }
HOOK void megascope_tensor(const megascope_tensor_view* view) {
  if (hooks) hooks->tensor(view);
}
HOOK int megascope_wants_tensor(const char* name) { return hooks ? hooks->wants_tensor(name) : 0; }
HOOK int megascope_is_recording(void) { return hooks ? hooks->is_recording() : 0; }
HOOK int megascope_save(void) { return hooks ? hooks->save() : -1; }
HOOK size_t megascope_request_poll(char* text, size_t size) {
  return hooks ? hooks->request_poll(text, size) : 0;
}
HOOK void megascope_reply(const char* text) {
  if (hooks) hooks->reply(text);
}
HOOK const char* megascope_last_error(void) { return hooks ? hooks->last_error() : ""; }
