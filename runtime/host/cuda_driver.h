#ifndef BF_HOST_CUDA_DRIVER_H
#define BF_HOST_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/device.h"

/* Verifiers on CUDA devices whose source is compiled when a device is opened, in C99 and C++17. The
 * driver and the compiler are loaded then, and no header of theirs is needed: what is used of them
 * is declared here. A device's primary context is used, as other libraries do, so that their
 * arrays are memory of it. For programs, not for verifiers; POSIX. */

/* ---- CUDA, as far as it is used. */

typedef struct bf_cu_object bf_cu_object; /* context, module, function, stream, program */
typedef unsigned long long bf_cu_pointer;

#define BF_CU_MOST_THREADS 1
#define BF_CU_PROCESSORS 16
#define BF_CU_CACHE_BYTES 38
#define BF_CU_NEAR_BYTES 81 /* shared memory of a processor, which its nearest cache is part of */
#define BF_CU_MAJOR 75
#define BF_CU_MINOR 76

/* Each function: type of the member, its name in the library, parameters. */
#define BF_CU_DRIVER(use)                                                                          \
  use(cuInit, "cuInit", (unsigned)) use(cuDeviceGetCount, "cuDeviceGetCount", (int*))              \
      use(cuDeviceGet, "cuDeviceGet", (int*, int))                                                 \
          use(cuDeviceGetName, "cuDeviceGetName", (char*, int, int))                               \
              use(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int*, int, int))                  \
                  use(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (bf_cu_object**, int)) \
                      use(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int))
#define BF_CU_CONTEXT(use)                                                                \
  use(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (bf_cu_object*))                           \
      use(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (bf_cu_object**))                        \
          use(cuModuleLoadData, "cuModuleLoadData", (bf_cu_object**, const void*))        \
              use(cuModuleUnload, "cuModuleUnload", (bf_cu_object*))                      \
                  use(cuModuleGetFunction, "cuModuleGetFunction",                         \
                      (bf_cu_object**, bf_cu_object*, const char*))                       \
                      use(cuStreamSynchronize, "cuStreamSynchronize", (bf_cu_object*))    \
                          use(cuGetErrorString, "cuGetErrorString", (int, const char**))  \
                              use(cuLaunchKernel, "cuLaunchKernel",                       \
                                  (bf_cu_object*, unsigned, unsigned, unsigned, unsigned, \
                                   unsigned, unsigned, unsigned, bf_cu_object*, void**, void**))
#define BF_CU_MEMORY(use)                                              \
  use(cuMemGetInfo, "cuMemGetInfo_v2", (size_t*, size_t*))             \
      use(cuMemAlloc, "cuMemAlloc_v2", (bf_cu_pointer*, size_t))       \
          use(cuMemFree, "cuMemFree_v2", (bf_cu_pointer))              \
              use(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",           \
                  (bf_cu_pointer, const void*, size_t, bf_cu_object*)) \
                  use(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",       \
                      (void*, bf_cu_pointer, size_t, bf_cu_object*))
#define BF_CU_COMPILER(use)                                                                     \
  use(nvrtcCreateProgram, "nvrtcCreateProgram",                                                 \
      (bf_cu_object**, const char*, const char*, int, const char* const*, const char* const*))  \
      use(nvrtcCompileProgram, "nvrtcCompileProgram", (bf_cu_object*, int, const char* const*)) \
          use(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", (bf_cu_object*, size_t*))       \
              use(nvrtcGetProgramLog, "nvrtcGetProgramLog", (bf_cu_object*, char*))             \
                  use(nvrtcGetCUBINSize, "nvrtcGetCUBINSize", (bf_cu_object*, size_t*))         \
                      use(nvrtcGetCUBIN, "nvrtcGetCUBIN", (bf_cu_object*, char*))               \
                          use(nvrtcDestroyProgram, "nvrtcDestroyProgram", (bf_cu_object**))

#define BF_CU_MEMBER(name, symbol, parameters) int(*name) parameters;
typedef struct bf_cu_library {
  void* driver;
  void* compiler;
  BF_CU_DRIVER(BF_CU_MEMBER)
  BF_CU_CONTEXT(BF_CU_MEMBER)
  BF_CU_MEMORY(BF_CU_MEMBER)
  BF_CU_COMPILER(BF_CU_MEMBER)
} bf_cu_library;
#undef BF_CU_MEMBER

/* Headers of the standard library that the source includes, and the compiler does not have. */
#define BF_CU_HEADERS 5
static const char* const bf_cu_header_names[BF_CU_HEADERS] = {"float.h", "math.h", "stdbool.h",
                                                              "stddef.h", "stdint.h"};
static const char* const bf_cu_headers[BF_CU_HEADERS] = {
    "#define FLT_MAX 0x1.fffffep127f\n#define FLT_MIN 0x1p-126f\n"
    "#define DBL_MAX 0x1.fffffffffffffp1023\n#define DBL_MIN 0x1p-1022\n",
    "#define HUGE_VALF __int_as_float(0x7f800000)\n"
    "#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ll)\n",
    "", "",
    "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\ntypedef short int16_t;\n"
    "typedef unsigned short uint16_t;\ntypedef int int32_t;\ntypedef unsigned uint32_t;\n"
    "typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n"};

typedef struct bf_cu_device {
  bf_cu_library cu;
  bf_device_program what;
  bf_device_fault fault;
  char text[BF_DEVICE_TEXT];
  char name[256];
  int device;
  bf_cu_object* context;
  bf_cu_object* module;
  bf_cu_pointer weights;
  /* Memory of a batch of `boxes` boxes. */
  bf_cu_pointer arenas;
  bf_cu_pointer lower;
  bf_cu_pointer upper;
  bf_cu_pointer out_lower;
  bf_cu_pointer out_upper;
  bf_cu_pointer out_lines;
  bf_cu_pointer faults; /* int32_t of each box */
  size_t boxes;
  size_t outputs;    /* of a box, that out_lower and out_upper have room for */
  size_t lines;      /* likewise of out_lines */
  size_t most_boxes; /* that the device's memory has room for */
} bf_cu_device;

/* Notes a failure, of which the first counts. Returns false. */
static inline int bf_cu_fail(bf_cu_device* d, bf_device_fault fault, const char* what,
                             const char* why) {
  if (d->fault != BF_DEVICE_READY) return 0;
  d->fault = fault;
  (void)snprintf(d->text, sizeof d->text, "%s%s%s", what, *why == '\0' ? "" : ": ", why);
  return 0;
}

static inline int bf_cu_did(bf_cu_device* d, int result, const char* what) {
  const char* why = NULL;
  if (result == 0) return 1;
  if (d->cu.cuGetErrorString(result, &why) != 0 || why == NULL) why = "unknown error";
  return bf_cu_fail(d, BF_DEVICE_CALL, what, why);
}

#define BF_CU_LOAD(function, symbol, parameters)                                   \
  {                                                                                \
    void* const found = dlsym(library, symbol);                                    \
    if (found == NULL)                                                             \
      return bf_cu_fail(d, BF_DEVICE_NO_LIBRARY, "the library lacks " symbol, ""); \
    memcpy(&d->cu.function, &found, sizeof found);                                 \
  }

static inline int bf_cu_load_driver(bf_cu_device* d) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return bf_cu_fail(d, BF_DEVICE_NO_LIBRARY, "libcuda.so.1 cannot be loaded", "");
  d->cu.driver = library;
  BF_CU_DRIVER(BF_CU_LOAD)
  BF_CU_CONTEXT(BF_CU_LOAD)
  BF_CU_MEMORY(BF_CU_LOAD)
  return 1;
}

static inline int bf_cu_load_compiler(bf_cu_device* d) {
  static const char* const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                      "libnvrtc.so"};
  void* library = NULL;
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names && library == NULL; ++i)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return bf_cu_fail(d, BF_DEVICE_NO_LIBRARY,
                      "libnvrtc.so, the compiler, of CUDA 11 to 13, cannot be loaded", "");
  d->cu.compiler = library;
  BF_CU_COMPILER(BF_CU_LOAD)
  return 1;
}
#undef BF_CU_LOAD

static inline int bf_cu_attribute(const bf_cu_device* d, int what) {
  int value = 0;
  return d->cu.cuDeviceGetAttribute(&value, what, d->device) == 0 ? value : 0;
}

/* Loads the driver, and finds a device. All of them have doubles and IEEE's arithmetic: the probe
 * sees to the rest. */
static inline int bf_cu_find_fit(bf_cu_device* d, const bf_device_program* what, size_t index) {
  int count = 0;
  memset(d, 0, sizeof *d);
  d->what = *what;
  if (!bf_cu_load_driver(d)) return 0;
  if (d->cu.cuInit(0) != 0 || d->cu.cuDeviceGetCount(&count) != 0) count = 0;
  if (index >= (size_t)count || d->cu.cuDeviceGet(&d->device, (int)index) != 0) {
    d->fault = BF_DEVICE_NOT_FOUND;
    (void)snprintf(d->text, sizeof d->text, "CUDA has %d device%s, and none with the number %zu",
                   count, count == 1 ? "" : "s", index);
    return 0;
  }
  (void)d->cu.cuDeviceGetName(d->name, (int)sizeof d->name, d->device);
  return 1;
}

/* The items that a group should have on a device: `many`, as far as it has so many, and where there
 * is no such device, which opening it says. */
static inline size_t bf_cu_items(size_t index, size_t many) {
  bf_cu_device d;
  bf_device_program none;
  int most;
  memset(&none, 0, sizeof none);
  if (!bf_cu_find_fit(&d, &none, index)) return many;
  most = bf_cu_attribute(&d, BF_CU_MOST_THREADS);
  return most > 0 && (size_t)most < many ? (size_t)most : many;
}

/* The first lines of what the compiler says. */
static inline void bf_cu_read_log(bf_cu_device* d, bf_cu_object* program) {
  size_t bytes = 0;
  char* log;
  if (d->cu.nvrtcGetProgramLogSize(program, &bytes) != 0 || bytes < 2) return;
  log = (char*)malloc(bytes);
  if (log == NULL) return;
  if (d->cu.nvrtcGetProgramLog(program, log) == 0 && log[0] != '\0')
    (void)snprintf(d->text, sizeof d->text, "%.*s", (int)sizeof d->text - 1, log);
  free(log);
}

/* Compiles the source for the device's processor. What is not said to the compiler is its default:
 * subnormals, quotients that are rounded, products and sums that may be fused. */
static inline int bf_cu_build(bf_cu_device* d) {
  char processor[64];
  const char* options[3];
  bf_cu_object* program = NULL;
  char* code = NULL;
  size_t bytes = 0;
  int good;
  (void)snprintf(processor, sizeof processor, "--gpu-architecture=sm_%d%d",
                 bf_cu_attribute(d, BF_CU_MAJOR), bf_cu_attribute(d, BF_CU_MINOR));
  options[0] = processor;
  options[1] = "--std=c++17";
  options[2] = "--disable-warnings";
  if (d->cu.nvrtcCreateProgram(&program, d->what.source[0], "verifier.cu", BF_CU_HEADERS,
                               bf_cu_headers, bf_cu_header_names) != 0)
    return bf_cu_fail(d, BF_DEVICE_NOT_BUILT, "nvrtcCreateProgram", "it failed");
  good = d->cu.nvrtcCompileProgram(program, 3, options) == 0 &&
         d->cu.nvrtcGetCUBINSize(program, &bytes) == 0 && bytes > 0;
  if (!good) {
    bf_cu_fail(d, BF_DEVICE_NOT_BUILT, "nvrtcCompileProgram", processor);
    bf_cu_read_log(d, program);
  }
  if (good) {
    code = (char*)malloc(bytes);
    good = code != NULL && d->cu.nvrtcGetCUBIN(program, code) == 0
               ? bf_cu_did(d, d->cu.cuModuleLoadData(&d->module, code), "cuModuleLoadData")
               : bf_cu_fail(d, BF_DEVICE_CALL, "nvrtcGetCUBIN", "it failed");
  }
  free(code);
  (void)d->cu.nvrtcDestroyProgram(&program);
  return good;
}

static inline int bf_cu_memory(bf_cu_device* d, bf_cu_pointer* made, size_t bytes) {
  return bf_cu_did(d, d->cu.cuMemAlloc(made, bytes == 0 ? 1 : bytes), "cuMemAlloc");
}

static inline void bf_cu_free(bf_cu_device* d, bf_cu_pointer* memory) {
  if (*memory != 0) (void)d->cu.cuMemFree(*memory);
  *memory = 0;
}

static inline int bf_cu_write(bf_cu_device* d, bf_cu_pointer to, const void* from, size_t bytes,
                              bf_cu_object* stream) {
  return bytes == 0 ||
         (bf_cu_did(d, d->cu.cuMemcpyHtoDAsync(to, from, bytes, stream), "cuMemcpyHtoDAsync") &&
          bf_cu_did(d, d->cu.cuStreamSynchronize(stream), "cuStreamSynchronize"));
}

/* Reads what was computed so far. */
static inline int bf_cu_read(bf_cu_device* d, bf_cu_pointer from, void* to, size_t bytes,
                             bf_cu_object* stream) {
  return bytes == 0 ||
         (bf_cu_did(d, d->cu.cuMemcpyDtoHAsync(to, from, bytes, stream), "cuMemcpyDtoHAsync") &&
          bf_cu_did(d, d->cu.cuStreamSynchronize(stream), "cuStreamSynchronize"));
}

/* Has `groups` groups of items call an entry point. */
static inline int bf_cu_call(bf_cu_device* d, const char* name, size_t items, size_t groups,
                             void** arguments, bf_cu_object* stream) {
  bf_cu_object* function = NULL;
  return bf_cu_did(d, d->cu.cuModuleGetFunction(&function, d->module, name),
                   "cuModuleGetFunction") &&
         bf_cu_did(d,
                   d->cu.cuLaunchKernel(function, (unsigned)groups, 1, 1, (unsigned)items, 1, 1, 0,
                                        stream, arguments, NULL),
                   "cuLaunchKernel");
}

/* Compares the device's arithmetic with this processor's, on pairs of numbers. */
static inline int bf_cu_probe(bf_cu_device* d) {
  const size_t pairs = BF_PROBE_PAIRS;
  const size_t bytes = (2 + BF_PROBED) * pairs * sizeof(double);
  double* const numbers = (double*)malloc(bytes);
  bf_cu_pointer memory = 0, second, made;
  void* arguments[3];
  size_t i;
  int good = numbers != NULL && bf_cu_memory(d, &memory, bytes);
  if (numbers == NULL) return bf_cu_fail(d, BF_DEVICE_CALL, "malloc", "no memory");
  for (i = 0; i < pairs; ++i) bf_probe_pair(i, &numbers[i], &numbers[pairs + i]);
  second = memory + pairs * sizeof(double);
  made = second + pairs * sizeof(double);
  arguments[0] = &memory;
  arguments[1] = &second;
  arguments[2] = &made;
  good = good && bf_cu_write(d, memory, numbers, 2 * pairs * sizeof(double), NULL) &&
         bf_cu_call(d, "bf_probe", 1, pairs, arguments, NULL) &&
         bf_cu_read(d, made, numbers + 2 * pairs, BF_PROBED * pairs * sizeof(double), NULL);
  good = good && bf_probe_passes(numbers + 2 * pairs, &d->fault, d->text);
  bf_cu_free(d, &memory);
  free(numbers);
  return good;
}

static inline int bf_cu_put_weights(bf_cu_device* d) {
  size_t i;
  if (!bf_cu_memory(d, &d->weights, d->what.weights_bytes)) return 0;
  for (i = 0; i < d->what.table_count; ++i) {
    const bf_device_table* const table = &d->what.tables[i];
    if (!bf_cu_write(d, d->weights + table->offset, table->data, table->bytes, NULL)) return 0;
  }
  return 1;
}

/* The boxes whose arenas take no more than half of the memory that is free. */
static inline size_t bf_cu_most_boxes(bf_cu_device* d) {
  const size_t arena = d->what.arena_bytes == 0 ? 1 : d->what.arena_bytes;
  size_t free_bytes = 0, all_bytes = 0, most;
  if (d->cu.cuMemGetInfo(&free_bytes, &all_bytes) != 0) return 1;
  most = free_bytes / 2 / arena;
  if (most > BF_DEVICE_MOST_BOXES) return BF_DEVICE_MOST_BOXES;
  return most == 0 ? 1 : most;
}

/* Makes the device's context that of this thread, and the one before again. */
static inline int bf_cu_enter(bf_cu_device* d) {
  return bf_cu_did(d, d->cu.cuCtxPushCurrent(d->context), "cuCtxPushCurrent");
}
static inline void bf_cu_leave(bf_cu_device* d) {
  bf_cu_object* before = NULL;
  (void)d->cu.cuCtxPopCurrent(&before);
}

/* Opens a device: its compiler takes the verifier, and its arithmetic is probed. `fault` and `text`
 * say why it is refused; bf_cu_close() has to follow in any case. */
static inline int bf_cu_open(bf_cu_device* d, const bf_device_program* what, size_t index) {
  int good;
  if (!bf_cu_find_fit(d, what, index) || !bf_cu_load_compiler(d) ||
      !bf_cu_did(d, d->cu.cuDevicePrimaryCtxRetain(&d->context, d->device),
                 "cuDevicePrimaryCtxRetain") ||
      !bf_cu_enter(d))
    return 0;
  d->most_boxes = bf_cu_most_boxes(d);
  good = bf_cu_build(d) && bf_cu_probe(d) && bf_cu_put_weights(d);
  bf_cu_leave(d);
  return good;
}

static inline void bf_cu_free_boxes(bf_cu_device* d) {
  bf_cu_free(d, &d->arenas);
  bf_cu_free(d, &d->lower);
  bf_cu_free(d, &d->upper);
  bf_cu_free(d, &d->out_lower);
  bf_cu_free(d, &d->out_upper);
  bf_cu_free(d, &d->out_lines);
  bf_cu_free(d, &d->faults);
  d->boxes = 0;
  d->outputs = 0;
  d->lines = 0;
}

static inline void bf_cu_close(bf_cu_device* d) {
  if (d->context == NULL) return;
  if (d->cu.cuCtxPushCurrent(d->context) == 0) {
    bf_cu_free_boxes(d);
    bf_cu_free(d, &d->weights);
    if (d->module != NULL) (void)d->cu.cuModuleUnload(d->module);
    bf_cu_leave(d);
  }
  (void)d->cu.cuDevicePrimaryCtxRelease(d->device);
  d->module = NULL;
  d->context = NULL;
}

static inline int bf_cu_make_room(bf_cu_device* d, size_t boxes, const bf_device_results* results) {
  const size_t inputs = boxes * d->what.inputs * sizeof(float);
  const size_t made = boxes * results->outputs * sizeof(float);
  if (boxes <= d->boxes && results->outputs <= d->outputs && results->lines <= d->lines) return 1;
  bf_cu_free_boxes(d);
  if (!bf_cu_memory(d, &d->arenas, boxes * d->what.arena_bytes) ||
      !bf_cu_memory(d, &d->lower, inputs) || !bf_cu_memory(d, &d->upper, inputs) ||
      !bf_cu_memory(d, &d->out_lower, made) || !bf_cu_memory(d, &d->out_upper, made) ||
      !bf_cu_memory(d, &d->out_lines, boxes * results->lines * sizeof(float)) ||
      !bf_cu_memory(d, &d->faults, boxes * sizeof(int32_t))) {
    bf_cu_free_boxes(d);
    return 0;
  }
  d->boxes = boxes;
  d->outputs = results->outputs;
  d->lines = results->lines;
  return 1;
}

/* Bounds boxes in the device's memory, and reads what was made of those with BF_OK. room: numbers
 * for the largest result of all boxes. */
static inline int bf_cu_bound_there(bf_cu_device* d, const bf_device_results* results, size_t boxes,
                                    bf_cu_pointer lower, bf_cu_pointer upper,
                                    const bf_status* statuses, float* room, bf_cu_object* stream) {
  float* const to[3] = {results->lower, results->upper, results->out_lines};
  const bf_cu_pointer from[3] = {d->out_lower, d->out_upper, d->out_lines};
  void* arguments[7];
  int i, good;
  arguments[0] = &d->weights;
  arguments[1] = &d->arenas;
  arguments[2] = &lower;
  arguments[3] = &upper;
  arguments[4] = &d->out_lower;
  arguments[5] = &d->out_upper;
  arguments[6] = &d->out_lines; /* the last, of those that take it */
  good = bf_cu_call(d, results->entry, d->what.items, boxes, arguments, stream);
  for (i = 0; i < 3 && good; ++i) {
    const size_t numbers = i < 2 ? results->outputs : results->lines;
    if (numbers == 0 || to[i] == NULL) continue;
    good = bf_cu_read(d, from[i], room, boxes * numbers * sizeof(float), stream);
    if (good) bf_device_copy_outputs(boxes, numbers, statuses, room, to[i]);
  }
  return good;
}

/* Numbers for the ends of boxes, or for what is made of them. */
static inline float* bf_cu_room(bf_cu_device* d, size_t boxes, const bf_device_results* results) {
  const size_t most = results->lines > results->outputs ? results->lines : results->outputs;
  const size_t numbers = boxes * (most > d->what.inputs ? most : d->what.inputs);
  float* const room = (float*)malloc(numbers * sizeof(float));
  if (room == NULL) bf_cu_fail(d, BF_DEVICE_CALL, "malloc", "no memory");
  return room;
}

/* Bounds boxes of which the device has room for all. */
static inline int bf_cu_bound_tile(bf_cu_device* d, const bf_device_results* results, size_t boxes,
                                   const float* lower, const float* upper,
                                   const bf_status* statuses) {
  const size_t inputs = boxes * d->what.inputs * sizeof(float);
  float* room;
  int good;
  if (!bf_cu_make_room(d, boxes, results)) return 0;
  room = bf_cu_room(d, boxes, results);
  if (room == NULL) return 0;
  bf_device_copy_boxes(boxes, d->what.inputs, statuses, lower, room);
  good = bf_cu_write(d, d->lower, room, inputs, NULL);
  bf_device_copy_boxes(boxes, d->what.inputs, statuses, upper, room);
  good = good && bf_cu_write(d, d->upper, room, inputs, NULL) &&
         bf_cu_bound_there(d, results, boxes, d->lower, d->upper, statuses, room, NULL);
  free(room);
  return good;
}

/* Has an entry point bound boxes, as many at a time as the device has room for. statuses: those of
 * boxes that are no boxes, which are left out, else BF_OK. */
static inline int bf_cu_call_entry(bf_cu_device* d, const bf_device_results* results, size_t count,
                                   const float* lower, const float* upper,
                                   const bf_status* statuses) {
  size_t first;
  int good = bf_cu_enter(d);
  if (!good) return 0;
  for (first = 0; first < count && good; first += d->most_boxes) {
    const size_t left = count - first;
    const size_t boxes = left < d->most_boxes ? left : d->most_boxes;
    const bf_device_results tile = bf_device_results_from(results, first);
    good = bf_cu_bound_tile(d, &tile, boxes, lower + first * d->what.inputs,
                            upper + first * d->what.inputs, statuses + first);
  }
  bf_cu_leave(d);
  return good;
}

/* Checks boxes in the device's memory: what is none, or reaches beyond `reach`, has status
 * BF_DEVICE_FAILED, others BF_OK. */
static inline int bf_cu_check_tile(bf_cu_device* d, size_t boxes, bf_cu_pointer lower,
                                   bf_cu_pointer upper, float reach, bf_status* statuses,
                                   bf_cu_object* stream) {
  int32_t* const faults = (int32_t*)malloc(boxes * sizeof(int32_t));
  int inputs = (int)d->what.inputs;
  void* arguments[5];
  size_t i;
  int good;
  if (faults == NULL) return bf_cu_fail(d, BF_DEVICE_CALL, "malloc", "no memory");
  arguments[0] = &lower;
  arguments[1] = &upper;
  arguments[2] = &inputs;
  arguments[3] = &reach;
  arguments[4] = &d->faults;
  good = bf_cu_call(d, "bf_check_boxes", 1, boxes, arguments, stream) &&
         bf_cu_read(d, d->faults, faults, boxes * sizeof(int32_t), stream);
  for (i = 0; i < boxes && good; ++i) statuses[i] = faults[i] == 0 ? BF_OK : BF_DEVICE_FAILED;
  free(faults);
  return good;
}

/* Does bf_cu_call_entry() of boxes that lie in the device's memory, in the order of a stream. Where
 * something is no box, or reaches beyond `reach`, its status is BF_DEVICE_FAILED, and nothing is
 * bounded: entry points take boxes alone. */
static inline int bf_cu_call_entry_there(bf_cu_device* d, const bf_device_results* results,
                                         size_t count, bf_cu_pointer lower, bf_cu_pointer upper,
                                         float reach, bf_status* statuses, bf_cu_object* stream) {
  const size_t bytes = d->what.inputs * sizeof(float);
  const size_t most = count < d->most_boxes ? count : d->most_boxes;
  float* room = NULL;
  size_t first;
  int good = bf_cu_enter(d), all = 1;
  if (!good) return 0;
  good = bf_cu_make_room(d, most, results);
  if (good) room = bf_cu_room(d, most, results);
  good = room != NULL;
  for (first = 0; first < count && good; first += most) {
    const size_t boxes = count - first < most ? count - first : most;
    size_t i;
    good = bf_cu_check_tile(d, boxes, lower + first * bytes, upper + first * bytes, reach,
                            statuses + first, stream);
    for (i = first; i < first + boxes && good; ++i) all = all && statuses[i] == BF_OK;
  }
  for (first = 0; first < count && good && all; first += most) {
    const size_t boxes = count - first < most ? count - first : most;
    const bf_device_results tile = bf_device_results_from(results, first);
    good = bf_cu_bound_there(d, &tile, boxes, lower + first * bytes, upper + first * bytes,
                             statuses + first, room, stream);
  }
  free(room);
  bf_cu_leave(d);
  return good;
}

/* Reads numbers of the device's memory. */
static inline int bf_cu_read_numbers(bf_cu_device* d, bf_cu_pointer from, float* to, size_t count,
                                     bf_cu_object* stream) {
  int good = bf_cu_enter(d);
  if (!good) return 0;
  good = bf_cu_read(d, from, to, count * sizeof(float), stream);
  bf_cu_leave(d);
  return good;
}

#endif /* BF_HOST_CUDA_DRIVER_H */
