/** \file
 * Annotations for programs that MegaScope records: steps, regions, counters, marks, parallel groups
 * and tensors. C11 and C++11; does not include mpi.h.
 *
 * Linking: link `libmegascope_hooks.a` (pkg-config megascope-hooks, CMake megascope::hooks). It
 * finds libmegascope.so at program start. Without libmegascope.so every function is a no-op that
 * costs one load and one branch, so the calls can stay in production builds.
 *
 * Recording: with MPI, recording starts in MPI_Init and ends in MPI_Finalize. Without MPI, it
 * starts at the first call of a function declared here, except the two *_define functions,
 * megascope_save() and megascope_last_error(), and ends with the process.
 *
 * Threads and phase: every function may be called from any thread at any time, also before
 * MPI_Init, after MPI_Finalize and in a forked child. Calls outside of a recording are ignored;
 * only the names that they define are kept. No function is async-signal-safe: do not call one from
 * a signal handler.
 *
 * Errors: no function throws, aborts or writes to stdout. A call that cannot be recorded is ignored
 * and counted: as refused (invalid arguments, too many names, no memory) or as unbalanced (enter
 * and leave out of order). The report shows both counts; megascope_last_error() returns the last
 * reason.
 *
 * Side effects: no function calls MPI or writes to stderr, with these exceptions:
 * - The call that starts a recording prints one line to stderr. With MEGASCOPE_STRICT=1 it ends the
 *   process if an option has an invalid value.
 * - megascope_step_begin() communicates over MPI if MEGASCOPE_TENSORS, MEGASCOPE_LIVE or
 *   MEGASCOPE_CONTROL=on requests data of all ranks. It waits for the other ranks for at most
 *   MEGASCOPE_STEP_WAIT, and prints one line to stderr if they do not arrive.
 *
 * Strings: arguments are zero-terminated and should be UTF-8. The library copies them.
 *
 * docs/hooks.md shows how to add these calls to a program.
 */
#ifndef MEGASCOPE_MEGASCOPE_H
#define MEGASCOPE_MEGASCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this header: 10000 * major + 100 * minor + patch. */
#define MEGASCOPE_VERSION_MAJOR 0
#define MEGASCOPE_VERSION_MINOR 1
#define MEGASCOPE_VERSION_PATCH 0
#define MEGASCOPE_VERSION \
  (MEGASCOPE_VERSION_MAJOR * 10000 + MEGASCOPE_VERSION_MINOR * 100 + MEGASCOPE_VERSION_PATCH)

/** Identifies a region name in this process. Calls that take MEGASCOPE_NONE are ignored. */
typedef uint32_t megascope_region;
/** Identifies a counter in this process. Calls that take MEGASCOPE_NONE are ignored. */
typedef uint32_t megascope_counter;
/** The invalid region or counter. */
#define MEGASCOPE_NONE 0U

/** Returns the identifier of a region name; the same name always has the same identifier. The first
 * 1000 bytes of a name are significant. Returns MEGASCOPE_NONE, counted as refused, if `name` is
 * null or empty, or if the process has defined 64,256 names. Takes a lock and
 * looks the name up: call it once for each name and keep the result. */
megascope_region megascope_region_define(const char* name);

/** Marks that the calling thread enters or leaves a region. Regions nest: `region` of a leave must
 * be the one that the thread entered last. Otherwise the regions inside of it are closed too and
 * counted as unbalanced; a leave of a region that is not open is ignored and counted. A thread may
 * have 256 open regions; deeper ones are not recorded. Cost: one clock read and one stored word. */
void megascope_region_enter(megascope_region region);
void megascope_region_leave(megascope_region region);

/** Value of an index that does not apply. */
#define MEGASCOPE_NOWHERE (-1)
/** Largest index of a micro-batch, a model chunk or a layer. */
#define MEGASCOPE_MAX_INDEX INT32_MAX

/** Position of a region in the model and in the step. Each member is 0 … MEGASCOPE_MAX_INDEX, or
 * MEGASCOPE_NOWHERE where it does not apply. Initialise with MEGASCOPE_WHERE_INIT: in an all-zero
 * object every member applies and is 0. */
typedef struct megascope_where {
  int64_t micro_batch; /**< micro-batch in the step, from 0 */
  int64_t chunk;       /**< model chunk of an interleaved pipeline stage, from 0 */
  int64_t layer;       /**< layer of the whole model, from 0 */
} megascope_where;
/** Initialiser of a megascope_where in which no member applies. */
#define MEGASCOPE_WHERE_INIT \
  { MEGASCOPE_NOWHERE, MEGASCOPE_NOWHERE, MEGASCOPE_NOWHERE }

/** Enters a region as megascope_region_enter() does, and records its position. where: may be null.
 * A member out of range is ignored and counted as refused; the region is entered all the same. */
void megascope_region_enter_at(megascope_region region, const megascope_where* where);

/** Marks the beginning of a step on the calling thread: a training iteration, a time step. step: 0
 * or more, increasing, the same on all ranks. If a step is open on this thread, it ends first. A
 * negative step is ignored and counted as refused; a step that does not increase is recorded and
 * counted as unbalanced. Recording is switched on and off here: MEGASCOPE_STEP_START,
 * MEGASCOPE_STEP_INTERVAL and MEGASCOPE_STEP_COUNT select the recorded steps. */
void megascope_step_begin(int64_t step);
/** Marks the end of the calling thread's step. Counted as unbalanced if no step is open. */
void megascope_step_end(void);

/** Returns the identifier of a counter: a value that holds from when it is set until it is set
 * again. unit: for instance "B" or "ms"; may be null; the unit of the first definition is used.
 * Errors and cost are those of megascope_region_define(). */
megascope_counter megascope_counter_define(const char* name, const char* unit);
/** Records a value of a counter, with the time and the calling thread. An identifier that was never
 * returned is counted as refused. */
void megascope_counter_set(megascope_counter counter, double value);

/** Records an instant with a name, on the calling thread. */
void megascope_mark(megascope_region name);

/** Sets the grid coordinate of this process in one dimension of a parallel program. Processes that
 * differ only in this coordinate form a group.
 * name: "dp", "tp", "pp" or another name of at most 64 letters, digits, '-' and '_'.
 * index: 0 … size - 1.
 * Returns 0; -1 if an argument is invalid or nothing is recorded (counted as refused). */
int megascope_group_set(const char* name, int index, int size);
/** Sets the coordinates of all dimensions from the rank of this process. layout: as the environment
 * variable MEGASCOPE_PARALLEL, "tp=2+pp=2+dp=2+order=tp-dp-pp". The first dimension of `order`
 * changes fastest with the rank; without `order` the dimensions are taken as written. The product
 * of the sizes must be the number of ranks. Returns as megascope_group_set(). */
int megascope_groups_set(const char* layout);

/** Role of a tensor in a training step. The names without KIND_ are those of version 0.1. */
typedef enum megascope_tensor_kind {
  MEGASCOPE_KIND_WEIGHT = 0,         /**< parameter */
  MEGASCOPE_KIND_WEIGHT_UPDATED = 1, /**< parameter after the optimizer step */
  MEGASCOPE_KIND_GRAD_UNREDUCED = 2, /**< gradient of this replica */
  MEGASCOPE_KIND_GRAD_REDUCED = 3,   /**< gradient reduced over all replicas */
  MEGASCOPE_KIND_ACTV_IN = 4,        /**< input activation */
  MEGASCOPE_KIND_ACTV_OUT = 5,       /**< output activation */
  MEGASCOPE_KIND_ACTV_GRAD_IN = 6,   /**< gradient of an input activation */
  MEGASCOPE_KIND_ACTV_GRAD_OUT = 7,  /**< gradient of an output activation */
  MEGASCOPE_KIND_EXP_AVG = 8,        /**< first moment of Adam */
  MEGASCOPE_KIND_EXP_AVG_SQ = 9,     /**< second moment of Adam */
  MEGASCOPE_KIND_INPUT_TOKENS = 10,  /**< token identifiers */
  MEGASCOPE_KIND_OTHER = 11,         /**< any other tensor */

  MEGASCOPE_WEIGHT = MEGASCOPE_KIND_WEIGHT,
  MEGASCOPE_WEIGHT_UPDATED = MEGASCOPE_KIND_WEIGHT_UPDATED,
  MEGASCOPE_GRAD_UNREDUCED = MEGASCOPE_KIND_GRAD_UNREDUCED,
  MEGASCOPE_GRAD_REDUCED = MEGASCOPE_KIND_GRAD_REDUCED,
  MEGASCOPE_ACTV_IN = MEGASCOPE_KIND_ACTV_IN,
  MEGASCOPE_ACTV_OUT = MEGASCOPE_KIND_ACTV_OUT,
  MEGASCOPE_ACTV_GRAD_IN = MEGASCOPE_KIND_ACTV_GRAD_IN,
  MEGASCOPE_ACTV_GRAD_OUT = MEGASCOPE_KIND_ACTV_GRAD_OUT,
  MEGASCOPE_EXP_AVG = MEGASCOPE_KIND_EXP_AVG,
  MEGASCOPE_EXP_AVG_SQ = MEGASCOPE_KIND_EXP_AVG_SQ,
  MEGASCOPE_INPUT_TOKENS = MEGASCOPE_KIND_INPUT_TOKENS,
  MEGASCOPE_OTHER = MEGASCOPE_KIND_OTHER
} megascope_tensor_kind;

/** Type of a tensor's elements. The names without DTYPE_ are those of version 0.1. */
typedef enum megascope_dtype {
  MEGASCOPE_DTYPE_FLOAT64 = 0,
  MEGASCOPE_DTYPE_FLOAT32 = 1,
  MEGASCOPE_DTYPE_FLOAT16 = 2,
  MEGASCOPE_DTYPE_BFLOAT16 = 3,
  MEGASCOPE_DTYPE_INT8 = 4,
  MEGASCOPE_DTYPE_INT16 = 5,
  MEGASCOPE_DTYPE_INT32 = 6,
  MEGASCOPE_DTYPE_INT64 = 7,
  MEGASCOPE_DTYPE_UINT8 = 8,
  MEGASCOPE_DTYPE_UINT16 = 9,
  MEGASCOPE_DTYPE_UINT32 = 10,
  MEGASCOPE_DTYPE_UINT64 = 11,

  MEGASCOPE_FLOAT64 = MEGASCOPE_DTYPE_FLOAT64,
  MEGASCOPE_FLOAT32 = MEGASCOPE_DTYPE_FLOAT32,
  MEGASCOPE_FLOAT16 = MEGASCOPE_DTYPE_FLOAT16,
  MEGASCOPE_BFLOAT16 = MEGASCOPE_DTYPE_BFLOAT16,
  MEGASCOPE_INT8 = MEGASCOPE_DTYPE_INT8,
  MEGASCOPE_INT16 = MEGASCOPE_DTYPE_INT16,
  MEGASCOPE_INT32 = MEGASCOPE_DTYPE_INT32,
  MEGASCOPE_INT64 = MEGASCOPE_DTYPE_INT64,
  MEGASCOPE_UINT8 = MEGASCOPE_DTYPE_UINT8,
  MEGASCOPE_UINT16 = MEGASCOPE_DTYPE_UINT16,
  MEGASCOPE_UINT32 = MEGASCOPE_DTYPE_UINT32,
  MEGASCOPE_UINT64 = MEGASCOPE_DTYPE_UINT64
} megascope_dtype;
/** An element type that is not set. megascope_tensor() refuses it. */
#define MEGASCOPE_DTYPE_UNSET (-1)

/** Largest number of dimensions of a tensor. */
#define MEGASCOPE_MAX_DIMENSIONS 8
/** Largest number of blocks of a split dimension. */
#define MEGASCOPE_MAX_BLOCKS 4

/** A tensor, or the part of it that this process holds. Initialise with MEGASCOPE_TENSOR_INIT and
 * set the members that apply. An all-zero object describes a WEIGHT of FLOAT64 in layer 0 and
 * micro-batch 0. */
typedef struct megascope_tensor_view {
  /** sizeof(megascope_tensor_view). Tells the library which members the caller knows. */
  size_t size_bytes;
  /** Identifies the tensor: "layer.3.qkv.weight". The same in every step. */
  const char* name;
  /** A megascope_tensor_kind. */
  int32_t kind;
  /** A megascope_dtype. */
  int32_t dtype;
  /** Layer of the whole model: 0 … MEGASCOPE_MAX_INDEX, or MEGASCOPE_NOWHERE. */
  int32_t layer;
  /** Micro-batch in the step: 0 … MEGASCOPE_MAX_INDEX, or MEGASCOPE_NOWHERE. */
  int32_t micro_batch;
  /** Address of the element whose indices are all 0. Any alignment. Null only if the tensor has no
   * elements. */
  const void* data;
  /** 1 if `data` is a device address (GPU), else 0. */
  int32_t is_on_device;
  /** Number of dimensions: 0 … MEGASCOPE_MAX_DIMENSIONS; 0 for a scalar. */
  int32_t dimensions;
  /** Extent of each dimension, in elements, of the part that this process holds. At most 2^48
   * elements in all. */
  int64_t shape[MEGASCOPE_MAX_DIMENSIONS];
  /** Stride of each dimension, in elements, of any sign: [dimensions]. Null for a contiguous
   * row-major tensor. */
  const int64_t* strides;
  /** Device tensors: the stream on which the data is ready. Else null. */
  void* stream;
  /** 1 if tensor parallelism splits the whole tensor along `split_dimension`, in the order of the
   * coordinates in `split_group`; else 0. */
  int32_t is_split;
  /** 0 … dimensions - 1. Ignored unless `is_split`. */
  int32_t split_dimension;
  /** Relative sizes of the blocks of the split dimension, if each block is split on its own:
   * {32, 8, 8} for Q|K|V with 32 query heads and 8 key-value heads. All 0: one block. */
  int32_t blocks[MEGASCOPE_MAX_BLOCKS];
  /** Name of the parallel dimension along which the tensor is split; null: "tp". */
  const char* split_group;
} megascope_tensor_view;

/** Initialiser of a megascope_tensor_view: size_bytes is set, kind is OTHER, dtype is unset, layer
 * and micro_batch do not apply, all other members are 0. The caller sets name, dtype, data,
 * dimensions and shape. */
#define MEGASCOPE_TENSOR_INIT                                                              \
  {                                                                                        \
    sizeof(megascope_tensor_view), NULL, MEGASCOPE_KIND_OTHER, MEGASCOPE_DTYPE_UNSET,      \
        MEGASCOPE_NOWHERE, MEGASCOPE_NOWHERE, NULL, 0, 0, {0}, NULL, NULL, 0, 0, {0}, NULL \
  }

/** Passes a tensor to MegaScope. With MEGASCOPE_TRACE=full its name, kind, type and shape are
 * recorded. Its elements are read only if MEGASCOPE_TENSORS or a client of the live view selects
 * it. view: read during the call only; the elements must not change until the function returns. An
 * invalid view is ignored and counted as refused. Cost if no tensor is selected: one load and one
 * branch. */
void megascope_tensor(const megascope_tensor_view* view);
/** Returns 1 if a tensor of this name would be recorded or read if the calling thread passed it
 * now, for any kind; else 0. Use it to skip expensive preparation. name: looked up under a
 * lock; null asks whether any tensor would be, at the cost of one load and one branch. */
int megascope_wants_tensor(const char* name);

/** Returns 1 if regions, counters and marks of the calling thread are recorded now, else 0. */
int megascope_is_recording(void);

/** Writes what has been recorded so far to the trace file. Needed only if the file is on a network
 * file system; on a local one the records survive the end of the process at any moment. Returns 0;
 * -1 if nothing is recorded. */
int megascope_save(void);

/** Returns why a call of this thread was last counted as refused or unbalanced, as one sentence of
 * at most 255 bytes; "" if no call was. A call that is ignored without being counted, because
 * nothing is recorded, does not change the sentence. Valid until the next counted call of this
 * thread. Never null. */
const char* megascope_last_error(void);

/** Takes the oldest request of a client of the live view (MEGASCOPE_LIVE), as JSON text
 * (docs/live_protocol.md). All ranks that poll after the same megascope_step_begin() get the same
 * requests.
 * text: [size] bytes, receives the request with a terminating zero; 4097 bytes hold any request.
 * Returns the length of the request without the zero; 0 if there is none. If the request does not
 * fit, its length is returned, nothing is written and the request stays queued. Until the first
 * poll, clients are informed that the program does not handle requests. */
size_t megascope_request_poll(char* text, size_t size);
/** Answers a request. text: JSON text that contains the request's `id`. May be called on any rank.
 * Ignored if no client can have asked. */
void megascope_reply(const char* text);

/** \cond The table that libmegascope.so exports as `megascope_hooks_v1`. size_bytes is its size in
 * the library. Later versions append members; a reader uses the members that lie in size_bytes. */
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
