/* What a hook costs, beside the floor under any that records: two readings of the clock and a store
 * of 32 bytes. hook_cost [CALLS]   prints "<case> <ns, median> <ns, least> <ns, mean>" a line;
 * bench/hook_cost.py runs it with and without the library. Each case is measured in short batches,
 * and cases take turns: a full buffer is in the mean, not in the median. */
#define _POSIX_C_SOURCE 200809L
#include <megascope/megascope.h>
#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { kBatchCalls = 200, kRing = 1 << 18 };

struct record {
  uint64_t enter, duration, what, more;
};
static struct record* ring;
static uint32_t next;
static megascope_region region;
static megascope_counter counter;
static megascope_tensor_view view;
static float values[4];

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) void run_empty(long calls) {
  for (long i = 0; i < calls; ++i) __asm__ volatile("" ::: "memory");
}
static __attribute__((noinline)) void run_floor(long calls) {
  for (long i = 0; i < calls; ++i) {
    const uint64_t enter = __rdtsc();
    __asm__ volatile("" ::: "memory");
    struct record* to = &ring[next++ % kRing];
    to->enter = enter;
    to->duration = __rdtsc() - enter;
    to->what = 1;
    to->more = 2;
    __asm__ volatile("" ::: "memory");
  }
}
static __attribute__((noinline)) void run_region(long calls) {
  for (long i = 0; i < calls; ++i) {
    megascope_region_enter(region);
    megascope_region_leave(region);
  }
}
static __attribute__((noinline)) void run_enter_at(long calls) {
  const megascope_where where = {1, MEGASCOPE_NOWHERE, 7};
  for (long i = 0; i < calls; ++i) {
    megascope_region_enter_at(region, &where);
    megascope_region_leave(region);
  }
}
static __attribute__((noinline)) void run_counter(long calls) {
  for (long i = 0; i < calls; ++i) megascope_counter_set(counter, 1.5);
}
static __attribute__((noinline)) void run_tensor(long calls) {
  for (long i = 0; i < calls; ++i) megascope_tensor(&view);
}

#ifdef WITH_NVTX
static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered;

static __attribute__((noinline)) void run_nvtx(long calls) {
  for (long i = 0; i < calls; ++i) {
    nvtxRangePushA("transformer.layers.17.attention");
    nvtxRangePop();
  }
}
static __attribute__((noinline)) void run_nvtx_registered(long calls) {
  for (long i = 0; i < calls; ++i) {
    nvtxDomainRangePushEx(domain, &registered);
    nvtxDomainRangePop(domain);
  }
}
static __attribute__((noinline)) void run_nvtx_range(long calls) {
  for (long i = 0; i < calls; ++i) nvtxRangeEnd(nvtxRangeStartA("range"));
}
static void set_up_nvtx(void) {
  domain = nvtxDomainCreateA("domain");
  memset(&registered, 0, sizeof registered);
  registered.version = NVTX_VERSION;
  registered.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
}
#endif

struct measured {
  const char* name;
  void (*run)(long);
  double* ns;
};

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  const long batches = (argc > 1 ? atol(argv[1]) : 640000) / kBatchCalls;
  ring = calloc(kRing, sizeof *ring);
  if (ring == NULL || batches < 1) return 2;
#ifdef WITH_NVTX
  set_up_nvtx();
#endif
  region = megascope_region_define("region");
  counter = megascope_counter_define("counter", "1");
  memset(&view, 0, sizeof view);
  view.size_bytes = sizeof view;
  view.name = "tensor";
  view.kind = MEGASCOPE_WEIGHT;
  view.dtype = MEGASCOPE_FLOAT32;
  view.data = values;
  view.dimensions = 1;
  view.shape[0] = 4;
  static struct measured cases[] = {
      {"empty", run_empty, NULL},
      {"floor", run_floor, NULL},
      {"region", run_region, NULL},
      {"region_at", run_enter_at, NULL},
      {"counter", run_counter, NULL},
      {"tensor", run_tensor, NULL},
#ifdef WITH_NVTX
      {"nvtx", run_nvtx, NULL},
      {"nvtx_registered", run_nvtx_registered, NULL},
      {"nvtx_range", run_nvtx_range, NULL},
#endif
  };
  const size_t count = sizeof cases / sizeof cases[0];
  for (size_t i = 0; i < count; ++i) {
    cases[i].ns = calloc((size_t)batches, sizeof *cases[i].ns);
    if (cases[i].ns == NULL) return 2;
    cases[i].run(10L * kBatchCalls);
  }
  for (long batch = 0; batch < batches; ++batch) {
    for (size_t i = 0; i < count; ++i) {
      const double begin = now_ns();
      cases[i].run(kBatchCalls);
      cases[i].ns[batch] = (now_ns() - begin) / (double)kBatchCalls;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (long batch = 0; batch < batches; ++batch) sum += cases[i].ns[batch];
    qsort(cases[i].ns, (size_t)batches, sizeof cases[i].ns[0], by_size);
    printf("%s %.3f %.3f %.3f\n", cases[i].name, cases[i].ns[batches / 2], cases[i].ns[0],
           sum / (double)batches);
  }
  return 0;
}
