// Preloaded before the library: allocations that the library and its modules make fail, on the
// thread that asks for it.
//   scarce_arm(first, goes_on)   allocation number `first` from now on fails, and with goes_on all
//   later ones scarce_disarm()              returns how many there were
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))
enum { kMaxRanges = 64 };

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static struct {
  uintptr_t begin;
  uintptr_t end;
} ranges[kMaxRanges];
static int range_count = 0;
static __thread long first __attribute__((tls_model("initial-exec"))) = 0; /* 0: not armed */
static __thread int goes_on __attribute__((tls_model("initial-exec"))) = 0;
static __thread long seen __attribute__((tls_model("initial-exec"))) = 0;

static int note_code(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size;
  (void)unused;
  if (info->dlpi_name == NULL || strstr(info->dlpi_name, "/libmegascope") == NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum && range_count < kMaxRanges; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    ranges[range_count].begin = info->dlpi_addr + part->p_vaddr;
    ranges[range_count++].end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
  }
  return 0;
}

SHOWN void scarce_arm(long number, int is_all) {
  range_count = 0;
  dl_iterate_phdr(note_code, NULL);
  seen = 0;
  goes_on = is_all;
  first = number;
}

SHOWN long scarce_disarm(void) {
  first = 0;
  return seen;
}

static int fails(const void* caller) {
  if (first == 0) return 0;
  const uintptr_t at = (uintptr_t)caller;
  int is_ours = 0;
  for (int i = 0; i < range_count; ++i) is_ours |= at >= ranges[i].begin && at < ranges[i].end;
  if (!is_ours) return 0;
  ++seen;
  if (seen != first && !(goes_on && seen > first)) return 0;
  errno = ENOMEM;
  return 1;
}

SHOWN void* malloc(size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}
SHOWN void* calloc(size_t count, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}
SHOWN void* realloc(void* old, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}
SHOWN void* aligned_alloc(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
SHOWN void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  if (fails(__builtin_return_address(0))) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}
