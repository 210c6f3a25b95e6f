/* libmegascope_hooks.a: the hook API in the program itself. Each function tests one pointer. It does not define what
 * libmegascope.so calls itself by: a program's own definition would hide that. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "plugin/api/megascope/megascope.h"

static const megascope_hooks_table* hooks;

__attribute__((constructor(101))) static void find_hooks(void) {
  const megascope_hooks_table* found = (const megascope_hooks_table*)dlsym(RTLD_DEFAULT, "megascope_hooks_v1");
  if (found != NULL && found->size_bytes >= sizeof *found) hooks = found;
}

#define HOOK __attribute__((visibility("hidden")))

HOOK megascope_region megascope_region_define(const char* name) { return hooks ? hooks->region_define(name) : MEGASCOPE_NONE; }
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
HOOK int megascope_group_set(const char* name, int index, int size) { return hooks ? hooks->group_set(name, index, size) : -1; }
HOOK int megascope_groups_set(const char* layout) { return hooks ? hooks->groups_set(layout) : -1; }
HOOK void megascope_tensor(const megascope_tensor_view* view) {
  if (hooks) hooks->tensor(view);
}
HOOK int megascope_wants_tensor(const char* name) { return hooks ? hooks->wants_tensor(name) : 0; }
HOOK int megascope_is_recording(void) { return hooks ? hooks->is_recording() : 0; }
HOOK int megascope_save(void) { return hooks ? hooks->save() : -1; }
HOOK const char* megascope_last_error(void) { return hooks ? hooks->last_error() : ""; }
