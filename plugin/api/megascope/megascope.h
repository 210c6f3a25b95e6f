/** \file
 * What a program can tell MegaScope about itself: steps, regions, counters, marks, parallel groups,
 * tensors. C11 and C++, no MPI.
 *
 * Link `libmegascope_hooks.a` (pkg-config megascope-hooks, CMake megascope::hooks): a program
 * carries these calls at no cost where libmegascope.so is not loaded; there they do nothing. Where
 * it is loaded, with MPI a recording begins in MPI_Init and ends in MPI_Finalize; without MPI it
 * begins at the first call of a function here and ends with the program.
 *
 * Every function may be called at any time: before MPI_Init, after MPI_Finalize, from any thread,
 * in a forked child; not in a handler of signals. None throws, ends the program, prints, or calls
 * MPI, but for this: where the first one begins a recording, that is said in a line, and
 * MEGASCOPE_STRICT=1 ends the program over an option that makes no sense; where MEGASCOPE_TENSORS
 * or MEGASCOPE_CONTROL=on asks for it, megascope_step_begin talks to other ranks over MPI, waits
 * for them for MEGASCOPE_STEP_WAIT at most, and says in a line if they do not come. What cannot be
 * recorded is passed over and counted; the report tells how often, and megascope_last_error() why.
 * Names are bytes that end with a zero byte, best UTF-8; they are copied.
 *
 * docs/hooks.md shows how to put them into a program.
 */
#ifndef MEGASCOPE_MEGASCOPE_H
#define MEGASCOPE_MEGASCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A region's name as a number, or MEGASCOPE_NONE: what is told with that is passed over. The same
 * in a process for the same name. */
typedef uint32_t megascope_region;
typedef uint32_t megascope_counter;
#define MEGASCOPE_NONE 0U

/** The number of a name. Takes a lock and looks the name up: call it once a name, not once a
 * region. */
megascope_region megascope_region_define(const char* name);

/** The calling thread enters a region, or leaves the one that it entered last, which should be
 * `region`. Regions nest; up to 256 are followed on a thread. */
void megascope_region_enter(megascope_region region);
void megascope_region_leave(megascope_region region);

/** What a region is about; MEGASCOPE_NOWHERE where that does not apply. */
#define MEGASCOPE_NOWHERE (-1)
typedef struct megascope_where {
  int64_t micro_batch; /**< in the step, from 0 */
  int64_t chunk;       /**< of the model, in a pipeline whose stages have several */
  int64_t layer;       /**< of the whole model, from 0 */
} megascope_where;
/** The same as megascope_region_enter, with that. where: may be null. */
void megascope_region_enter_at(megascope_region region, const megascope_where* where);

/** A step of the program begins or ends on the calling thread: an iteration, a time step. step: 0
 * or more, counting up, the same on all ranks. A step that is still open ends where the next one
 * begins. Which steps are recorded: MEGASCOPE_STEP_START, MEGASCOPE_STEP_INTERVAL and
 * MEGASCOPE_STEP_COUNT; recording goes on and off in megascope_step_begin. */
void megascope_step_begin(int64_t step);
void megascope_step_end(void);

/** The number of a counter: something that has a value from when it is set until it is set again.
 * unit: "B", "ms"; may be null. As megascope_region_define, call it once. */
megascope_counter megascope_counter_define(const char* name, const char* unit);
void megascope_counter_set(megascope_counter counter, double value);

/** A moment with a name. */
void megascope_mark(megascope_region name);

/** This process's place in one dimension of a parallel program: "dp", "tp", "pp" or any other name
 * of letters, digits, '-' and
 * '_'. index: 0 … size - 1. Processes that differ in this index only are a group. Returns 0; -1:
 * refused, or nothing is recorded. */
int megascope_group_set(const char* name, int index, int size);
/** The same for all dimensions from the process's rank: "tp=2+pp=2+dp=2+order=tp-dp-pp", as
 * MEGASCOPE_PARALLEL. The dimension named first in `order` changes fastest with the rank; without
 * it the order is as written. */
int megascope_groups_set(const char* layout);

/** What a tensor is in a training step. */
typedef enum megascope_tensor_kind {
  MEGASCOPE_WEIGHT = 0,
  MEGASCOPE_WEIGHT_UPDATED = 1,
  MEGASCOPE_GRAD_UNREDUCED = 2, /**< of this replica */
  MEGASCOPE_GRAD_REDUCED = 3,   /**< of all replicas */
  MEGASCOPE_ACTV_IN = 4,
  MEGASCOPE_ACTV_OUT = 5,
  MEGASCOPE_ACTV_GRAD_IN = 6,
  MEGASCOPE_ACTV_GRAD_OUT = 7,
  MEGASCOPE_EXP_AVG = 8,
  MEGASCOPE_EXP_AVG_SQ = 9,
  MEGASCOPE_INPUT_TOKENS = 10,
  MEGASCOPE_OTHER = 11
} megascope_tensor_kind;

/** Type of a tensor's elements. */
typedef enum megascope_dtype {
  MEGASCOPE_FLOAT64 = 0,
  MEGASCOPE_FLOAT32 = 1,
  MEGASCOPE_FLOAT16 = 2,
  MEGASCOPE_BFLOAT16 = 3,
  MEGASCOPE_INT8 = 4,
  MEGASCOPE_INT16 = 5,
  MEGASCOPE_INT32 = 6,
  MEGASCOPE_INT64 = 7,
  MEGASCOPE_UINT8 = 8,
  MEGASCOPE_UINT16 = 9,
  MEGASCOPE_UINT32 = 10,
  MEGASCOPE_UINT64 = 11
} megascope_dtype;

#define MEGASCOPE_MAX_DIMENSIONS 8
#define MEGASCOPE_MAX_BLOCKS 4

/** A tensor, or the part of it that this process has. Set all members that are not told to 0:
 * `megascope_tensor_view v = {0};`. */
typedef struct megascope_tensor_view {
  size_t size_bytes;   /**< sizeof(megascope_tensor_view) */
  const char* name;    /**< "layer.3.qkv.weight": tells what it is, the same in every step */
  int32_t kind;        /**< megascope_tensor_kind */
  int32_t dtype;       /**< megascope_dtype */
  int32_t layer;       /**< of the whole model, from 0, or MEGASCOPE_NOWHERE */
  int32_t micro_batch; /**< or MEGASCOPE_NOWHERE */
  const void* data; /**< the element with all indices 0; any alignment; null only when there is no
                       element */
  int32_t is_on_device; /**< 1: `data` is an address of a GPU */
  int32_t dimensions;   /**< 0 … MEGASCOPE_MAX_DIMENSIONS; 0: a single number */
  int64_t
      shape[MEGASCOPE_MAX_DIMENSIONS]; /**< elements along each dimension, of this process's part */
  const int64_t* strides; /**< elements from one index of each dimension to the next, any sign;
                             null: rows one behind the other */
  void* stream;           /**< of a device: on which the data is ready */
  int32_t
      is_split; /**< 1: tensor parallelism splits it along split_dimension, in the order of "tp" */
  int32_t split_dimension;
  int32_t
      blocks[MEGASCOPE_MAX_BLOCKS]; /**< how the split dimension of the whole is made up, where each
                                       block is split by itself: {32, 8, 8} of Q|K|V with 32 heads
                                       that share 8 of keys and values; all 0: one block */
  const char*
      split_group; /**< the dimension of the parallel program along which it is split; null: "tp" */
} megascope_tensor_view;

/** The program shows a tensor, which is as `view` says until the function returns. Recorded are
 * name, kind, type and shape (MEGASCOPE_TRACE=full); its contents are looked at only where
 * MEGASCOPE_TENSORS asks for it. Else: a load and a branch. */
void megascope_tensor(const megascope_tensor_view* view);
/** Would a tensor of that name that the calling thread shows now be recorded or looked at? 1 or 0.
 * For those to whom making a view is dear. True where one kind of them would. name: null asks
 * whether any would: a load and a branch; else the name is looked up. */
int megascope_wants_tensor(const char* name);

/** Is what the calling thread tells recorded now? 1 or 0. */
int megascope_is_recording(void);

/** Brings what has been recorded so far to the file, which matters only where that is on a network:
 * elsewhere it survives the program's end at any moment. Returns 0; -1: nothing is recorded. */
int megascope_save(void);

/** Why something that the calling thread told was last passed over; "" when nothing was. Valid
 * until that happens again. */
const char* megascope_last_error(void);

/** What a client of the live view (MEGASCOPE_LIVE) asks the program to do, as JSON text
 * (docs/live_protocol.md): the same on all ranks that poll behind the same megascope_step_begin.
 * `text` gets it with a zero behind it, and it is not there any more; returns its length, 0: there
 * is none. A request that does not fit `size` bytes stays, and nothing is written: 4097 are enough
 * for any. Until a program polls for the first time its clients are told that it does nothing for
 * them. */
size_t megascope_request_poll(char* text, size_t size);
/** Answers a request, in JSON text that has its `id`; from any rank. It leaves with what the rank
 * tells anyhow. */
void megascope_reply(const char* text);

/** \cond What libmegascope.so shows under the name `megascope_hooks_v1`. A later version of the
 * table is longer. */
typedef struct megascope_hooks_table {
  size_t size_bytes;
  megascope_region (*region_define)(const char*);
  void (*region_enter)(megascope_region);
  void (*region_leave)(megascope_region);
  void (*region_enter_at)(megascope_region, const megascope_where*);
  void (*step_begin)(int64_t);
  void (*step_end)(void);
  megascope_counter (*counter_define)(const char*, const char*);
  void (*counter_set)(megascope_counter, double);
  void (*mark)(megascope_region);
  int (*group_set)(const char*, int, int);
  int (*groups_set)(const char*);
  void (*tensor)(const megascope_tensor_view*);
  int (*is_recording)(void);
  int (*save)(void);
  const char* (*last_error)(void);
  int (*wants_tensor)(const char*);
  size_t (*request_poll)(char*, size_t);
  void (*reply)(const char*);
} megascope_hooks_table;
/** \endcond */

#ifdef __cplusplus
}
#endif
#endif
