/* Exports the hook table of an older library, which ends in the middle of an entry after `tensor`.
 * The test preloads it. */
#include "plugin/api/megascope/megascope.h"

#include <stddef.h>
#include <stdio.h>

static megascope_region region_define(const char* name) {
  (void)name;
  return 1234;
}
static void region_enter(megascope_region region) {
  printf("enter %u\n", (unsigned)region);
  fflush(stdout);
}
static void region_leave(megascope_region region) {
  printf("leave %u\n", (unsigned)region);
  fflush(stdout);
}
static int refuse_group(const char* name, int index, int size) {
  (void)name, (void)index, (void)size;
  return -1;
}
static int beyond(void) {
  puts("beyond");
  fflush(stdout);
  return 1;
}
static int wants_beyond(const char* name) {
  (void)name;
  return beyond();
}

__attribute__((visibility("default"))) const megascope_hooks_table megascope_hooks_v1 = {
    .size_bytes = offsetof(megascope_hooks_table, is_recording) + 4,
    .region_define = region_define,
    .region_enter = region_enter,
    .region_leave = region_leave,
    .group_set = refuse_group,
    .is_recording = beyond,
    .save = beyond,
    .wants_tensor = wants_beyond,
};
