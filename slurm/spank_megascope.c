/* SPANK plugin: option --megascope[=LIBRARY] of srun, sbatch and salloc, which records the MPI
 * calls of a job's tasks.
 *
 * It prepends the library to the tasks' LD_PRELOAD, on the node and as the user, and does nothing
 * else. If the library cannot be read, the node's tasks run unrecorded, which is reported once. In
 * plugstack.conf:
 *
 *   optional /path/megascope_spank.so [lib=LIBRARY] [default=on]
 *
 * lib: the library; default: the one installed with this plugin. default=on: every job is recorded
 * unless it uses --megascope=off. */
#define _GNU_SOURCE /* dladdr, PATH_MAX */
#include <dlfcn.h>
#include <limits.h>
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SPANK_PLUGIN(megascope, 1)

static char g_library[PATH_MAX];
static int g_is_on;

/* Blanks and colons divide the entries of LD_PRELOAD. */
static int is_one_entry(const char* path) {
  return path[0] != '\0' && strpbrk(path, " \t\n:") == NULL;
}

static int take_library(const char* path) {
  if (!is_one_entry(path) || strlen(path) >= sizeof g_library) return 0;
  strcpy(g_library, path);
  return 1;
}

/* The library beside which this plugin is installed: <here>/../libmegascope.so. */
static void find_library(void) {
  Dl_info info;
  char path[PATH_MAX + 32];
  char whole[PATH_MAX];
  if (dladdr((const void*)&find_library, &info) == 0 || info.dli_fname == NULL) return;
  const char* name = strrchr(info.dli_fname, '/');
  if (name == NULL || name - info.dli_fname >= PATH_MAX) return;
  snprintf(path, sizeof path, "%.*s/../libmegascope.so", (int)(name - info.dli_fname),
           info.dli_fname);
  if (realpath(path, whole) == NULL) return;
  char* end = strrchr(whole, '/'); /* keep the name without a version */
  snprintf(path, sizeof path, "%.*s/libmegascope.so", (int)(end - whole), whole);
  take_library(path);
}

/* An argument that was not given arrives on the node as "" from srun and as "(null)" from sbatch.
 */
static int on_option(int value, const char* argument, int is_remote) {
  (void)value;
  (void)is_remote;
  g_is_on = 1;
  if (argument == NULL || argument[0] == '\0' || strcmp(argument, "(null)") == 0)
    return ESPANK_SUCCESS;
  if (strcmp(argument, "off") == 0) {
    g_is_on = 0;
    return ESPANK_SUCCESS;
  }
  if (take_library(argument)) return ESPANK_SUCCESS;
  slurm_error(
      "megascope: --megascope=%s: expected the path of a library, without blanks and colons",
      argument);
  return ESPANK_BAD_ARG;
}

static struct spank_option g_options[] = {
    {"megascope", "[LIBRARY|off]", "record the MPI calls of the tasks with MegaScope",
     2 /* optional */, 0, on_option},
    SPANK_OPTIONS_TABLE_END};

int slurm_spank_init(spank_t spank, int argument_count, char** arguments) {
  for (int i = 0; i < argument_count; ++i) {
    if (strncmp(arguments[i], "lib=", 4) == 0) {
      if (!take_library(arguments[i] + 4))
        slurm_error("megascope: plugstack.conf: %s is not the path of a library", arguments[i]);
    } else if (strcmp(arguments[i], "default=on") == 0) {
      g_is_on = 1;
    } else if (strcmp(arguments[i], "default=off") != 0) {
      slurm_error(
          "megascope: plugstack.conf: unknown option %s; use lib=LIBRARY, default=on or "
          "default=off",
          arguments[i]);
    }
  }
  if (g_library[0] == '\0') find_library();
  spank_option_register(spank, &g_options[0]); /* if it fails, jobs run as before */
  return ESPANK_SUCCESS;
}

/* Reports once on each node why its tasks run unrecorded. */
static void report_missing(spank_t spank, const char* why) {
  uint32_t task = 0;
  char node[256] = "this node";
  if (spank_get_item(spank, S_TASK_ID, &task) == ESPANK_SUCCESS && task != 0) return;
  if (spank_getenv(spank, "SLURMD_NODENAME", node, sizeof node) != ESPANK_SUCCESS)
    gethostname(node, sizeof node - 1);
  slurm_error("megascope: the tasks on %s run unrecorded: %s", node, why);
}

static void preload(spank_t spank) {
  static char before[1 << 16];
  static char after[sizeof before + PATH_MAX + 1];
  const spank_err_t found = spank_getenv(spank, "LD_PRELOAD", before, sizeof before);
  if (found == ESPANK_NOSPACE) {
    report_missing(spank, "LD_PRELOAD is too long");
    return;
  }
  if (found != ESPANK_SUCCESS) before[0] = '\0';
  const size_t length = strlen(g_library);
  if (strncmp(before, g_library, length) == 0 && (before[length] == '\0' || before[length] == ':'))
    return;
  snprintf(after, sizeof after, "%s%s%s", g_library, before[0] != '\0' ? ":" : "", before);
  if (spank_setenv(spank, "LD_PRELOAD", after, 1) != ESPANK_SUCCESS)
    report_missing(spank, "LD_PRELOAD cannot be set");
}

/* In the task, before it becomes the program, as the user. */
int slurm_spank_task_init(spank_t spank, int argument_count, char** arguments) {
  (void)argument_count;
  (void)arguments;
  if (!g_is_on) return ESPANK_SUCCESS;
  char why[PATH_MAX + 64];
  snprintf(why, sizeof why, "%s cannot be read", g_library);
  if (g_library[0] == '\0') {
    report_missing(
        spank,
        "no libmegascope.so was found next to the plugin, and plugstack.conf specifies none");
  } else if (strchr(g_library, '/') != NULL && access(g_library, R_OK) != 0) {
    report_missing(spank, why);
  } else {
    preload(spank);
  }
  return ESPANK_SUCCESS;
}
