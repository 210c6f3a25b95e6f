// An MPI program for outputs_test.py: calls MPI_Barrier 100 times, and does what its arguments say
// in the order given.
#include <mpi.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void finalize_late(void) { MPI_Finalize(); }

static int act(const char* what, const char* value) {
  if (strcmp(what, "chdir") == 0) return chdir(value);
  if (strcmp(what, "wait") == 0) {  // for a line on standard input
    puts("waiting");
    fflush(stdout);
    return getchar() == '\n' ? 0 : -1;
  }
  if (strcmp(what, "pause") == 0) {  // until it is killed
    puts("waiting");
    fflush(stdout);
    for (;;) pause();
  }
  if (strcmp(what, "stderr") == 0) {  // its number goes to a data file
    close(STDERR_FILENO);
    return value[0] == '\0' || open(value, O_WRONLY | O_CREAT | O_TRUNC, 0644) == STDERR_FILENO
               ? 0
               : -1;
  }
  if (strcmp(what, "calls") == 0) {  // one each 1.2 ms
    const struct timespec pause = {0, 1200000};
    for (int left = atoi(value); left > 0; --left) {
      int size = 0;
      MPI_Comm_size(MPI_COMM_WORLD, &size);
      nanosleep(&pause, NULL);
    }
    return 0;
  }
  if (strcmp(what, "kill") == 0) return raise(9);
  if (strcmp(what, "exit") == 0) exit(atoi(value));
  if (strcmp(what, "return") == 0) return 1;
  if (strcmp(what, "fork") == 0) {  // a child that exits
    const pid_t child = fork();
    if (child == 0) exit(0);
    return waitpid(child, NULL, 0) == child ? 0 : -1;
  }
  return -1;
}

/// Arguments "before:what=value", "after:what=value": of MPI_Init.
static int act_all(int argc, char** argv, const char* when) {
  const size_t length = strlen(when);
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], when, length) != 0) continue;
    char what[4096];
    snprintf(what, sizeof what, "%s", argv[i] + length);
    char* value = strchr(what, '=');
    if (value != NULL) *value++ = '\0';
    const int result = act(what, value != NULL ? value : "");
    if (result != 0) return result;
  }
  return 0;
}

int main(int argc, char** argv) {
  const int is_late = argc > 1 && strcmp(argv[1], "late") == 0;
  if (is_late) atexit(finalize_late);
  if (act_all(argc, argv, "before:") != 0) return 3;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 100; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (act_all(argc, argv, "after:") != 0) return 3;
  if (!is_late) MPI_Finalize();
  return 0;
}
