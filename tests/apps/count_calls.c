/* Counts a program's MPI calls by name from MPI_Init to MPI_Finalize, with any arguments: a
   second count, in front of libmegascope.so and without a line of it. Each function of the MPI
   library gets a stub that counts and jumps on to the next one of its name. The book,
   COUNT_CALLS_BOOK.<pid>, is a mapped file of rows {char name[56]; uint64_t calls}: it outlives the
   process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

struct row {
  char name[56];
  _Atomic uint64_t calls;
};

static const char* const kNames[] = {
#define CALL(number, name) #name,
#include <count_calls.inc>  // generated
#undef CALL
};
enum { kCount = sizeof kNames / sizeof *kNames };

static struct row fallback[kCount];
static struct row* ledger = fallback;
static void* targets[kCount];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int is_counting;

static void open_ledger(void) {
  const char* prefix = getenv("COUNT_CALLS_BOOK");
  char path[4096];
  if (prefix == NULL ||
      snprintf(path, sizeof path, "%s.%d", prefix, (int)getpid()) >= (int)sizeof path)
    return;
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof fallback) != 0) return;
  void* rows = mmap(NULL, sizeof fallback, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (rows == MAP_FAILED) return;
  ledger = rows;
  for (int i = 0; i < kCount; ++i) strncpy(ledger[i].name, kNames[i], sizeof ledger[i].name - 1);
}

/* Is it the MPI library that calls itself? */
static int is_of_mpi(void* caller) {
  struct dl_find_object found;
  if (_dl_find_object(caller, &found) != 0) return 0;
  const char* path = found.dlfo_link_map->l_name;
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
  return strncmp(name, "libmpi", 6) == 0 || strncmp(name, "mca_", 4) == 0 ||
         strncmp(name, "libopen-", 8) == 0;
}

/* mpi_init_, MPI_Init_thread …, not MPI_Initialized. */
static int is_called(int number, const char* function) {
  const size_t length = strlen(function);
  const char* name = kNames[number];
  return strncasecmp(name, function, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

/* What to go on with. Python loads the MPI library where only its own modules see it. */
static void* next_of(int number) {
  void* next = dlsym(RTLD_NEXT, kNames[number]);
  if (next == NULL) {
    void* mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
    if (mpi != NULL) next = dlsym(mpi, kNames[number]);
  }
  if (next == NULL) {
    fprintf(stderr, "count_calls: no library has %s\n", kNames[number]);
    abort();
  }
  return next;
}

__attribute__((used, visibility("hidden"))) void* count_call(int number, void* caller) {
  pthread_once(&once, open_ledger);
  if (is_called(number, "mpi_init")) is_counting = 1;
  if (is_counting && !is_of_mpi(caller))
    atomic_fetch_add_explicit(&ledger[number].calls, 1, memory_order_relaxed);
  if (is_called(number, "mpi_finalize")) is_counting = 0;
  if (targets[number] == NULL) targets[number] = next_of(number);
  return targets[number];
}

/* The arguments stay where they are; the next function returns to the caller, not to us. */
__asm__(
    ".text\n"
    ".type count_and_go,@function\n"
    "count_and_go:\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %rax\n"
    "  mov %r11d, %edi\n"
    "  mov 56(%rsp), %rsi\n"
    "  call count_call\n"
    "  mov %rax, %r11\n"
    "  pop %rax\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  jmp *%r11\n");
#define CALL(number, name)                                                                  \
  __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n  mov $" #number \
          ", %r11d\n  jmp count_and_go\n");
#include <count_calls.inc>  // generated
