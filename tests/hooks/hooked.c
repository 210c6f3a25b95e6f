/* A program with hooks: with MPI, or with HOOKED_WITHOUT_MPI without it.
 *   hooked STEPS [MODE]   MODE: plain, silent (no hook is called), misuse, threads, cancelled,
 * fork, forkfirst, early, kill, nostart */
#define _GNU_SOURCE
#include <megascope/megascope.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef HOOKED_WITHOUT_MPI
#include <mpi.h>
#endif

static int steps = 5;
#ifndef HOOKED_WITHOUT_MPI
static int rank = 0;
#endif
static const char* mode = "plain";

static int is(const char* name) { return strcmp(mode, name) == 0; }

static void exchange(void) {
#ifndef HOOKED_WITHOUT_MPI
  int is_started = 0;
  int is_over = 0;
  MPI_Initialized(&is_started);
  MPI_Finalized(&is_over);
  if (!is_started || is_over) return;
  double mine = rank;
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#endif
}

static volatile double sink;
static void work(int amount) {
  for (int i = 0; i < amount * 1000; ++i) sink = sink * 0.5 + i;
}

/* One step: a region with two micro-batches, an exchange inside of one, a counter, a mark. */
static void train(int step) {
  const megascope_region forward = megascope_region_define("forward");
  const megascope_region backward = megascope_region_define("backward");
  const megascope_counter loss = megascope_counter_define("loss", "nats");
  megascope_step_begin(step);
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    const megascope_where where = {micro_batch, MEGASCOPE_NOWHERE, 3};
    megascope_region_enter_at(forward, &where);
    work(20);
    megascope_region_enter(backward);
    exchange();
    megascope_region_leave(backward);
    megascope_region_leave(forward);
  }
  megascope_counter_set(loss, 1.0 / (step + 1));
  if (is("kill") && step == steps - 1) {
    megascope_region_enter(forward);
    raise(SIGKILL);
  }
  if (step == 2) megascope_mark(megascope_region_define("checkpoint"));
  megascope_step_end();
}

static void run_silent(void) {
  for (int step = 0; step < steps; ++step) {
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
      work(20);
      exchange();
    }
  }
}

static void misuse(void) {
  const megascope_region a = megascope_region_define("a");
  const megascope_region b = megascope_region_define("b");
  megascope_region_leave(a); /* 1 unbalanced: never entered */
  megascope_step_end();      /* 2 */
  megascope_region_enter(a);
  megascope_region_enter(b);
  megascope_region_leave(a); /* 3: b was open */
  megascope_step_begin(7);
  megascope_step_begin(3); /* 4: backwards */
  megascope_step_end();
  megascope_step_begin(-1);                                     /* 1 refused */
  if (megascope_region_define(NULL) != MEGASCOPE_NONE) abort(); /* 2 */
  if (megascope_region_define("") != MEGASCOPE_NONE) abort();   /* 3 */
  megascope_region_enter(MEGASCOPE_NONE);                       /* nothing */
  megascope_region_leave(MEGASCOPE_NONE);
  megascope_region_enter(70000); /* nothing: no region has this number */
  megascope_region_enter_at(a, NULL);
  megascope_region_leave(a);
  megascope_counter_set(MEGASCOPE_NONE, 1.0);          /* nothing */
  megascope_counter_set(4711, 1.0);                    /* 4 */
  megascope_mark(MEGASCOPE_NONE);                      /* nothing */
  if (megascope_group_set("t p", 0, 1) != -1) abort(); /* 5 */
  if (megascope_group_set("tp", 2, 2) != -1) abort();  /* 6 */
  if (megascope_groups_set("tp=1000") != -1) abort();  /* 7 */
  if (strstr(megascope_last_error(), "tp 1000") == NULL) abort();
  const megascope_region odd = megascope_region_define("odd \x01\xff\"\\ name");
  megascope_region_enter(odd);
  megascope_region_leave(odd);
  char large[5000];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  megascope_region_enter(megascope_region_define(large));
  megascope_region_leave(megascope_region_define(large));
  for (int depth = 0; depth < 300; ++depth) megascope_region_enter(b); /* 256 are followed */
  for (int depth = 0; depth < 300; ++depth) megascope_region_leave(b);
  megascope_region_enter(a); /* never left */
}

/* Is to be cancelled from its first cancellation point on, which is not in a hook. */
static void* annotate_until_cancelled(void* unused) {
  const megascope_region region = megascope_region_define("of a cancelled thread");
  (void)unused;
  pthread_cancel(pthread_self());
  for (int i = 0; i < 10000; ++i) { /* through several chunks of definitions */
    char name[32];
    snprintf(name, sizeof name, "name %d", i);
    if (megascope_group_set("tp", 0, 1) != 0 || megascope_region_define(name) == MEGASCOPE_NONE)
      abort();
  }
  if (megascope_save() != 0) abort();
  for (int i = 0; i < 1000000; ++i) {
    megascope_region_enter(region);
    megascope_region_leave(region);
  }
  for (;;) pthread_testcancel();
  return NULL;
}

static void run_cancelled(void) {
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, annotate_until_cancelled, NULL) != 0) abort();
  pthread_join(thread, &result);
  if (result != PTHREAD_CANCELED) abort();
}

static void* annotate(void* number) {
  const megascope_region region = megascope_region_define("of a thread");
  const megascope_counter counter = megascope_counter_define("thread", NULL);
  for (int i = 0; i < 100; ++i) {
    megascope_region_enter(region);
    megascope_counter_set(counter, (double)i);
    megascope_region_leave(region);
  }
  megascope_region_enter(region); /* the thread dies inside of it */
  return number;
}

static void run_threads(void) {
  for (int round = 0; round < 20; ++round) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, annotate, NULL);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  }
}

static void run_fork(void) {
  const megascope_region region = megascope_region_define("before fork");
  if (!is("forkfirst")) megascope_region_enter(region);
  const pid_t child = fork();
  if (child == 0) { /* what it reports is ignored, unless nothing was reported before */
    if (!is("forkfirst")) megascope_region_leave(region);
    train(1000);
    megascope_region_enter(megascope_region_define("child"));
    exit(megascope_is_recording() == is("forkfirst") ? 0 : 9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) abort();
  if (!is("forkfirst")) megascope_region_leave(region);
}

static void start(int* argc, char*** argv) {
#ifndef HOOKED_WITHOUT_MPI
  if (is("nostart")) return;
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#else
  (void)argc;
  (void)argv;
#endif
}

static void finish(void) {
#ifndef HOOKED_WITHOUT_MPI
  if (is("nostart")) return;
  MPI_Finalize();
#endif
}

int main(int argc, char** argv) {
  if (argc > 1) steps = atoi(argv[1]);
  if (argc > 2) mode = argv[2];
  const megascope_region whole = megascope_region_define("whole");
  if (is("forkfirst")) run_fork();
  if (is("early")) {
    megascope_region_enter(whole);
    train(100);
  }
  start(&argc, &argv);
  if (is("silent"))
    run_silent();
  else
    for (int step = 0; step < steps; ++step) train(step);
  if (is("misuse")) misuse();
  if (is("threads")) run_threads();
  if (is("cancelled")) run_cancelled();
  if (is("fork")) run_fork();
  if (is("early")) megascope_region_leave(whole);
  const int is_recording = megascope_is_recording();
  finish();
  if (is("early")) train(200);
  printf("recording %d, afterwards %d, saved %d\n", is_recording, megascope_is_recording(),
         megascope_save());
  return 0;
}
