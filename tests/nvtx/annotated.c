/* A program annotated with NVTX: with MPI, or with ANNOTATED_WITHOUT_MPI without it.
 *   annotated STEPS [MODE]   MODE: plain, ranges, misuse, steps, names, threads, fork, early, kill,
 * leak */
#define _GNU_SOURCE
#include <megascope/megascope.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>
#ifndef ANNOTATED_WITHOUT_MPI
#include <mpi.h>
#endif

static int steps = 5;
static const char* mode = "plain";
static int is(const char* name) { return strcmp(mode, name) == 0; }
static void expect(int is_so, int line) {
  if (is_so) return;
  fprintf(stderr, "annotated.c:%d is not so\n", line);
  exit(9);
}
#define EXPECT(is_so) expect(is_so, __LINE__)

static void exchange(void) {
#ifndef ANNOTATED_WITHOUT_MPI
  int is_started = 0;
  int is_over = 0;
  MPI_Initialized(&is_started);
  MPI_Finalized(&is_over);
  if (is_started && !is_over) MPI_Barrier(MPI_COMM_WORLD);
#endif
}

static nvtxEventAttributes_t event(const char* message) {
  nvtxEventAttributes_t made;
  memset(&made, 0, sizeof made);
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.messageType = NVTX_MESSAGE_TYPE_ASCII;
  made.message.ascii = message;
  return made;
}

/* Every kind of message, domain and payload; a step has four ranges and a mark. levels: what push
 * returns. */
static void run_plain(void) {
  const nvtxDomainHandle_t solver = nvtxDomainCreateA("solver");
  nvtxDomainNameCategoryA(solver, 7, "numerics");
  const nvtxStringHandle_t factorize = nvtxDomainRegisterStringA(solver, "factorize");
  for (int step = 0; step < steps; ++step) {
    nvtxEventAttributes_t outer = event("train");
    outer.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    outer.payload.llValue = step - 1;
    outer.colorType = NVTX_COLOR_ARGB;
    outer.color = 0xFF336699;
    EXPECT(nvtxRangePushEx(&outer) == 0);
    nvtxEventAttributes_t inner = event(NULL);
    inner.category = 7;
    inner.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    inner.message.registered = factorize;
    inner.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    inner.payload.dValue = step + 0.5;
    EXPECT(nvtxDomainRangePushEx(solver, &inner) == 0);
    EXPECT(nvtxRangePushW(L"gr\u00f6\u00dfe \u2264 \U0001F600") == 1);
    exchange();
    EXPECT(nvtxRangePop() == 1);
    EXPECT(nvtxDomainRangePop(solver) == 0);
    EXPECT(nvtxRangePushA("backward") == 1);
    EXPECT(nvtxRangePop() == 1);
    if (step == 2) nvtxMarkA("checkpoint");
    EXPECT(nvtxRangePop() == 0);
  }
}

static void* stop_elsewhere(void* range) {
  nvtxRangeEnd(*(nvtxRangeId_t*)range);
  return NULL;
}

/* Overlapping ranges, one stopped by another thread, one never. */
static void run_ranges(void) {
  const nvtxDomainHandle_t io = nvtxDomainCreateW(L"io");
  for (int step = 0; step < steps; ++step) {
    nvtxEventAttributes_t load = event("load");
    nvtxRangeId_t first = nvtxDomainRangeStartEx(io, &load);
    nvtxRangePushA("compute");
    const nvtxRangeId_t second = nvtxRangeStartW(L"send");
    EXPECT(first != 0 && second != 0 && first != second);
    nvtxDomainRangeEnd(io, first);
    usleep(1000);
    nvtxRangePop();
    nvtxRangeEnd(second);
    nvtxRangeId_t third = nvtxRangeStartA("handed over");
    pthread_t thread;
    pthread_create(&thread, NULL, stop_elsewhere, &third);
    pthread_join(thread, NULL);
  }
  nvtxRangeStartA("endless");
}

static void run_misuse(void) {
  EXPECT(nvtxRangePop() == -1); /* 1 unbalanced */
  nvtxRangePushA("a");
  nvtxRangeEnd(12345678); /* 2 */
  const nvtxRangeId_t range = nvtxRangeStartA("b");
  nvtxRangeEnd(range);
  nvtxRangeEnd(range);             /* 3 */
  nvtxRangeEnd(0);                 /* nothing */
  nvtxRangeEnd(~(nvtxRangeId_t)0); /* 4 */
  const nvtxDomainHandle_t other = nvtxDomainCreateA("other");
  EXPECT(nvtxDomainCreateA("other") == other);
  EXPECT(nvtxDomainRangePop(other) == -1); /* 5 */
  EXPECT(nvtxDomainCreateA("") == NULL);   /* 1 refused */
  EXPECT(nvtxDomainCreateA(NULL) == NULL); /* 2 */
  EXPECT(nvtxRangePushEx(NULL) == 1);      /* 3: told as no message */
  nvtxRangePop();
  nvtxEventAttributes_t bad = event("unread");
  bad.size = 4;
  nvtxRangePushEx(&bad); /* 4 */
  nvtxRangePop();
  bad = event(NULL);
  bad.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  bad.message.registered = (nvtxStringHandle_t)(size_t)0xDEADBEEF;
  nvtxRangePushEx(&bad); /* 5 */
  nvtxRangePop();
  bad.messageType = 77;
  nvtxMarkEx(&bad);
  nvtxRangePushA(NULL);
  nvtxRangePop();
  nvtxRangePushW(NULL);
  nvtxRangePop();
  bad = event("in no domain");
  EXPECT(nvtxDomainRangePushEx((nvtxDomainHandle_t)(size_t)0xDEADBEEF, &bad) == 1);
  EXPECT(nvtxRangePop() == 1);
  const wchar_t odd[] = {L'x', 0xD800, 0x7FFFFFFF, L'y', 0};
  nvtxRangePushW(odd);
  nvtxRangePop();
  nvtxRangePushA("odd \x01\xff\"\\ name");
  nvtxRangePop();
  char large[5000];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  nvtxRangePushA(large);
  nvtxRangePop();
  for (int depth = 0; depth < 300; ++depth)
    EXPECT(nvtxRangePushA("deep") == depth + 1); /* 256 are followed */
  for (int depth = 300; depth-- > 0;) EXPECT(nvtxRangePop() == depth + 1);
  nvtxEventAttributes_t crossing = event("crossing");
  nvtxDomainRangePushEx(other, &crossing);
  nvtxRangePushA("inner");
  EXPECT(nvtxDomainRangePop(other) == 0); /* not the innermost: the inner one goes on */
  EXPECT(nvtxRangePop() == 1);
  EXPECT(nvtxRangePop() == 0);
  nvtxDomainDestroy(other);
  nvtxInitialize(NULL);
  nvtxRangePushA("never popped");
}

/* A buffer that is used again, and more different messages than are told apart. */
static void run_names(void) {
  char text[32];
  for (int i = 0; i < 100000; ++i) {
    snprintf(text, sizeof text, "message %d", i);
    EXPECT(nvtxRangePushA(text) == 0);
    EXPECT(nvtxRangePop() == 0);
  }
}

static void* annotate(void* unused) {
  char name[32];
  snprintf(name, sizeof name, "worker %ld", (long)(size_t)unused);
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
  for (int i = 0; i < 1000; ++i) {
    snprintf(name, sizeof name, "shared %d", i % 50);
    nvtxRangePushA(name);
    nvtxRangeEnd(nvtxRangeStartA("process"));
    nvtxRangePop();
  }
  nvtxRangePushA("the thread dies in it");
  return NULL;
}

static void run_threads(void) {
  nvtxNameOsThreadW((uint32_t)getpid(), L"chief");
  for (long round = 0; round < 5; ++round) {
    pthread_t threads[4];
    for (long i = 0; i < 4; ++i)
      pthread_create(&threads[i], NULL, annotate, (void*)(size_t)(round * 4 + i));
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  }
  nvtxRangePushA("of the chief");
  nvtxRangePop();
}

static void run_fork(void) {
  nvtxRangePushA("before fork");
  const nvtxRangeId_t range = nvtxRangeStartA("range");
  const pid_t child = fork();
  if (child == 0) { /* what it reports is ignored */
    EXPECT(nvtxRangePop() == NVTX_NO_PUSH_POP_TRACKING);
    nvtxRangeEnd(range);
    EXPECT(nvtxRangePushA("child") == NVTX_NO_PUSH_POP_TRACKING);
    EXPECT(nvtxRangeStartA("child's") == 0);
    nvtxMarkA("child's");
    nvtxDomainRegisterStringA(nvtxDomainCreateA("child"), "child");
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  nvtxRangeEnd(range);
  EXPECT(nvtxRangePop() == 0);
}

static void run_kill(void) {
  nvtxRangeStartA("open range");
  nvtxRangePushA("pushed");
  raise(SIGKILL);
}

/* More open ranges than are followed. */
static void run_leak(void) {
  for (int i = 0; i < 20000; ++i) nvtxRangeStartA("leaked");
}

/* Ranges that are pushed in one step and popped in the next, and one around all, which ends inside
 * of the last. */
static void run_steps(void) {
  const nvtxDomainHandle_t other = nvtxDomainCreateA("other");
  nvtxEventAttributes_t whole = event("whole");
  EXPECT(nvtxDomainRangePushEx(other, &whole) == 0);
  for (int step = 0; step < steps; ++step) {
    megascope_step_begin(step);
    exchange();
    if (step > 0) EXPECT(nvtxRangePop() == 0);
    usleep(200);
    exchange();
    EXPECT(nvtxRangePushA("across") == 0);
    usleep(200);
    exchange();
  }
  EXPECT(nvtxDomainRangePop(other) == 0);
  megascope_step_end();
  EXPECT(nvtxRangePop() == 0);
}

int main(int argc, char** argv) {
  if (argc > 1) steps = atoi(argv[1]);
  if (argc > 2) mode = argv[2];
#ifndef ANNOTATED_WITHOUT_MPI
  if (is("early")) EXPECT(nvtxRangePushA("early") == NVTX_NO_PUSH_POP_TRACKING);
  MPI_Init(&argc, &argv);
  if (is("early"))
    EXPECT(nvtxRangePop() == -1 || nvtxRangePushA("off") == NVTX_NO_PUSH_POP_TRACKING);
#endif
  const int is_recorded = nvtxRangePushA("probe") == 0;
  nvtxRangePop();
  if (is_recorded) {
    if (is("plain")) run_plain();
    if (is("ranges")) run_ranges();
    if (is("misuse")) run_misuse();
    if (is("steps")) run_steps();
    if (is("names")) run_names();
    if (is("threads")) run_threads();
    if (is("fork")) run_fork();
    if (is("kill")) run_kill();
    if (is("leak")) run_leak();
  }
#ifndef ANNOTATED_WITHOUT_MPI
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (is("early")) EXPECT(nvtxRangePushA("late") == NVTX_NO_PUSH_POP_TRACKING);
#endif
  printf("recorded %d\n", is_recorded);
  return 0;
}
