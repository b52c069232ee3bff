#ifndef BF_HOST_OPENCL_DEVICE_H
#define BF_HOST_OPENCL_DEVICE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/device.h"

/* Verifiers on OpenCL devices, in C99 and C++17. The library is loaded when a device is opened, and
 * no header of it is needed: what is used of it is declared here, as OpenCL 1.2 has it. For
 * programs, not for verifiers; POSIX. */

/* ---- OpenCL, as far as it is used. */

typedef int32_t bf_cl_int;
typedef uint32_t bf_cl_uint;
typedef uint64_t bf_cl_bits;
typedef struct bf_cl_object
    bf_cl_object; /* platform, device, context, queue, program, kernel, memory */

#define BF_CL_DEVICE_NOT_FOUND (-1)
#define BF_CL_INVALID_GROUP_SIZE (-54)
#define BF_CL_DEVICE_TYPE_ALL ((bf_cl_bits)0xffffffffu)
#define BF_CL_DEVICE_TYPE 0x1000u
#define BF_CL_DEVICE_TYPE_CPU ((bf_cl_bits)2u)
#define BF_CL_DEVICE_MAX_COMPUTE_UNITS 0x1002u
#define BF_CL_DEVICE_MAX_GROUP_SIZE 0x1004u
#define BF_CL_DEVICE_NATIVE_FLOATS 0x103au
#define BF_CL_DEVICE_CACHE_SIZE 0x101eu
#define BF_CL_DEVICE_LOCAL_MEM_SIZE 0x1023u
#define BF_CL_DEVICE_ENDIAN_LITTLE 0x1026u
#define BF_CL_DEVICE_GLOBAL_MEM_SIZE 0x101fu
#define BF_CL_DEVICE_MAX_MEM_ALLOC_SIZE 0x1010u
#define BF_CL_DEVICE_SINGLE_FP_CONFIG 0x101bu
#define BF_CL_DEVICE_DOUBLE_FP_CONFIG 0x1032u
#define BF_CL_DEVICE_NAME 0x102bu
#define BF_CL_FP_DENORM ((bf_cl_bits)1u)
#define BF_CL_FP_ROUNDED_DIVISION ((bf_cl_bits)128u)
#define BF_CL_MEM_READ_WRITE ((bf_cl_bits)1u)
#define BF_CL_MEM_READ_ONLY ((bf_cl_bits)4u)
#define BF_CL_PROGRAM_BUILD_LOG 0x1183u
#define BF_CL_TRUE 1u

#define BF_CL_FUNCTIONS(use)                                                                       \
  use(bf_cl_int, clGetPlatformIDs, (bf_cl_uint, bf_cl_object**, bf_cl_uint*)) use(                 \
      bf_cl_int, clGetDeviceIDs,                                                                   \
      (bf_cl_object*, bf_cl_bits, bf_cl_uint, bf_cl_object**, bf_cl_uint*))                        \
      use(bf_cl_int, clGetDeviceInfo, (bf_cl_object*, bf_cl_uint, size_t, void*, size_t*)) use(    \
          bf_cl_object*, clCreateContext,                                                          \
          (const intptr_t*, bf_cl_uint, bf_cl_object* const*,                                      \
           void (*)(const char*, const void*, size_t, void*), void*,                               \
           bf_cl_int*)) use(bf_cl_object*, clCreateCommandQueue,                                   \
                            (bf_cl_object*, bf_cl_object*, bf_cl_bits, bf_cl_int*))                \
          use(bf_cl_object*, clCreateProgramWithSource,                                            \
              (bf_cl_object*, bf_cl_uint, const char**, const size_t*, bf_cl_int*))                \
              use(bf_cl_int, clBuildProgram,                                                       \
                  (bf_cl_object*, bf_cl_uint, bf_cl_object* const*, const char*,                   \
                   void (*)(bf_cl_object*, void*),                                                 \
                   void*)) use(bf_cl_int, clGetProgramBuildInfo,                                   \
                               (bf_cl_object*, bf_cl_object*, bf_cl_uint, size_t, void*, size_t*)) \
                  use(bf_cl_object*, clCreateKernel, (bf_cl_object*, const char*, bf_cl_int*))     \
                      use(bf_cl_object*, clCreateBuffer,                                           \
                          (bf_cl_object*, bf_cl_bits, size_t, void*, bf_cl_int*))                  \
                          use(bf_cl_int, clSetKernelArg,                                           \
                              (bf_cl_object*, bf_cl_uint, size_t, const void*))                    \
                              use(bf_cl_int, clEnqueueNDRangeKernel,                               \
                                  (bf_cl_object*, bf_cl_object*, bf_cl_uint, const size_t*,        \
                                   const size_t*, const size_t*, bf_cl_uint, bf_cl_object* const*, \
                                   bf_cl_object**)) use(bf_cl_int, clEnqueueReadBuffer,            \
                                                        (bf_cl_object*, bf_cl_object*, bf_cl_uint, \
                                                         size_t, size_t, void*, bf_cl_uint,        \
                                                         bf_cl_object* const*, bf_cl_object**))    \
                                  use(bf_cl_int, clEnqueueWriteBuffer,                             \
                                      (bf_cl_object*, bf_cl_object*, bf_cl_uint, size_t, size_t,   \
                                       const void*, bf_cl_uint, bf_cl_object* const*,              \
                                       bf_cl_object**)) use(bf_cl_int, clFinish, (bf_cl_object*))  \
                                      use(bf_cl_int, clReleaseMemObject, (bf_cl_object*)) use(     \
                                          bf_cl_int, clReleaseKernel, (bf_cl_object*))             \
                                          use(bf_cl_int, clReleaseProgram, (bf_cl_object*)) use(   \
                                              bf_cl_int, clReleaseCommandQueue, (bf_cl_object*))   \
                                              use(bf_cl_int, clReleaseContext, (bf_cl_object*))

#define BF_CL_MEMBER(type, name, parameters) type(*name) parameters;
typedef struct bf_cl_library {
  void* handle;
  BF_CL_FUNCTIONS(BF_CL_MEMBER)
} bf_cl_library;
#undef BF_CL_MEMBER

/* Options that keep IEEE's arithmetic: none that relaxes it is among them. */
#define BF_CL_OPTIONS "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"

typedef struct bf_opencl_device {
  bf_cl_library cl;
  bf_device_program what;
  bf_device_fault fault;
  char text[BF_DEVICE_TEXT];
  char name[256];
  bf_cl_object* device;
  bf_cl_object* context;
  bf_cl_object* queue;
  bf_cl_object* program;
  bf_cl_object* weights;
  /* Memory of a batch of `boxes` boxes. */
  bf_cl_object* arenas;
  bf_cl_object* lower;
  bf_cl_object* upper;
  bf_cl_object* out_lower;
  bf_cl_object* out_upper;
  bf_cl_object* out_lines;
  size_t boxes;
  size_t outputs;    /* of a box, that out_lower and out_upper have room for */
  size_t lines;      /* likewise of out_lines */
  size_t most_boxes; /* that the device's memory has room for */
} bf_opencl_device;

/* Notes a failure, of which the first counts. Returns false. */
static inline int bf_opencl_fail(bf_opencl_device* d, bf_device_fault fault, const char* what,
                                 long number) {
  if (d->fault != BF_DEVICE_READY) return 0;
  d->fault = fault;
  if (number == 0)
    (void)snprintf(d->text, sizeof d->text, "%s", what);
  else
    (void)snprintf(d->text, sizeof d->text, "%s (%ld)", what, number);
  return 0;
}

static inline int bf_opencl_did(bf_opencl_device* d, bf_cl_int result, const char* what) {
  return result == 0 ? 1 : bf_opencl_fail(d, BF_DEVICE_CALL, what, (long)result);
}

static inline int bf_opencl_load(bf_opencl_device* d) {
  static const char* const names[] = {"libOpenCL.so.1", "libOpenCL.so"};
  size_t i;
  for (i = 0; i < 2 && d->cl.handle == NULL; ++i)
    d->cl.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (d->cl.handle == NULL)
    return bf_opencl_fail(d, BF_DEVICE_NO_LIBRARY, "libOpenCL.so.1 cannot be loaded", 0);
#define BF_CL_LOAD(type, function, parameters)                                               \
  {                                                                                          \
    void* const found = dlsym(d->cl.handle, #function);                                      \
    if (found == NULL)                                                                       \
      return bf_opencl_fail(d, BF_DEVICE_NO_LIBRARY, "libOpenCL.so.1 has no " #function, 0); \
    memcpy(&d->cl.function, &found, sizeof found);                                           \
  }
  BF_CL_FUNCTIONS(BF_CL_LOAD)
#undef BF_CL_LOAD
  return 1;
}

/* Finds device `index` of all platforms' devices, in their order. */
static inline int bf_opencl_find(bf_opencl_device* d, size_t index) {
  bf_cl_object* platforms[16];
  bf_cl_object* devices[32];
  bf_cl_uint platform_count = 0;
  bf_cl_uint p;
  size_t seen = 0;
  if (d->cl.clGetPlatformIDs(16, platforms, &platform_count) != 0) platform_count = 0;
  if (platform_count > 16) platform_count = 16;
  for (p = 0; p < platform_count; ++p) {
    bf_cl_uint count = 0;
    if (d->cl.clGetDeviceIDs(platforms[p], BF_CL_DEVICE_TYPE_ALL, 32, devices, &count) != 0)
      continue;
    if (count > 32) count = 32;
    if (index < seen + count) {
      d->device = devices[index - seen];
      return 1;
    }
    seen += count;
  }
  (void)snprintf(d->text, sizeof d->text, "OpenCL has %zu device%s, and none with the number %zu",
                 seen, seen == 1 ? "" : "s", index);
  d->fault = BF_DEVICE_NOT_FOUND;
  return 0;
}

static inline bf_cl_bits bf_opencl_number(const bf_opencl_device* d, bf_cl_uint what,
                                          size_t bytes) {
  bf_cl_bits number = 0;
  if (d->cl.clGetDeviceInfo(d->device, what, bytes, &number, NULL) != 0) return 0;
  return number;
}

/* The items that a group has at most, as far as the device says; an entry point may have fewer. */
static inline size_t bf_opencl_most_items(const bf_opencl_device* d) {
  const size_t most = (size_t)bf_opencl_number(d, BF_CL_DEVICE_MAX_GROUP_SIZE, sizeof(size_t));
  return most == 0 ? (size_t)-1 : most;
}

static inline int bf_opencl_is_processor(const bf_opencl_device* d) {
  return (bf_opencl_number(d, BF_CL_DEVICE_TYPE, 8) & BF_CL_DEVICE_TYPE_CPU) != 0;
}

/* The items that a group should have on a device: one on a processor, whose compiler makes vectors
 * of a row's neighbours; else `many`, or the half, quarter and so on of it that a group has at
 * most; `many` also where there is no such device, which opening it says. */
static inline size_t bf_opencl_items(size_t index, size_t many) {
  bf_opencl_device d;
  size_t most;
  memset(&d, 0, sizeof d);
  if (!bf_opencl_load(&d) || !bf_opencl_find(&d, index)) return many;
  if (bf_opencl_is_processor(&d)) return 1;
  most = bf_opencl_most_items(&d);
  while (many > most) many /= 2;
  return many;
}

/* Returns whether groups of so many items are not at risk. Processors carry them out as loops,
 * which PoCL 3.1 makes wrong for some verifiers, so that they crash. A test of few entry points,
 * which defines BF_OPENCL_GROUPS_ON_PROCESSORS, is not kept from it. */
static inline int bf_opencl_is_fit_for_groups(bf_opencl_device* d) {
#if !defined(BF_OPENCL_GROUPS_ON_PROCESSORS)
  if (d->what.items > 1 && bf_opencl_is_processor(d)) {
    d->fault = BF_DEVICE_PROCESSOR;
    (void)snprintf(d->text, sizeof d->text,
                   "groups of %lu items on a processor: write the verifier with --items 1",
                   (unsigned long)d->what.items);
    return 0;
  }
#else
  (void)d;
#endif
  return 1;
}

/* Returns whether the device says that its groups and its arithmetic are fit. */
static inline int bf_opencl_is_fit(bf_opencl_device* d) {
  const bf_cl_bits wide = bf_opencl_number(d, BF_CL_DEVICE_DOUBLE_FP_CONFIG, 8);
  const bf_cl_bits narrow = bf_opencl_number(d, BF_CL_DEVICE_SINGLE_FP_CONFIG, 8);
  const size_t most = bf_opencl_most_items(d);
  (void)d->cl.clGetDeviceInfo(d->device, BF_CL_DEVICE_NAME, sizeof d->name - 1, d->name, NULL);
  if (!bf_opencl_is_fit_for_groups(d)) return 0;
  if (d->what.items > most)
    return bf_opencl_fail(d, BF_DEVICE_GROUP, "too few items in a group, at most", (long)most);
  if (wide == 0)
    return bf_opencl_fail(d, BF_DEVICE_NO_DOUBLES, "no arithmetic in double: cl_khr_fp64", 0);
  if ((wide & BF_CL_FP_DENORM) == 0 || (narrow & BF_CL_FP_DENORM) == 0)
    return bf_opencl_fail(d, BF_DEVICE_NO_SUBNORMALS, "subnormal numbers are flushed to zero", 0);
  if ((narrow & BF_CL_FP_ROUNDED_DIVISION) == 0)
    return bf_opencl_fail(d, BF_DEVICE_NO_ROUNDING, "quotients in float are not rounded correctly",
                          0);
  if (bf_opencl_number(d, BF_CL_DEVICE_ENDIAN_LITTLE, 4) == 0)
    return bf_opencl_fail(d, BF_DEVICE_BIG_ENDIAN, "bytes of numbers have another order", 0);
  return 1;
}

/* The first lines of what the compiler says. */
static inline void bf_opencl_read_log(bf_opencl_device* d) {
  size_t bytes = 0;
  char* log;
  if (d->cl.clGetProgramBuildInfo(d->program, d->device, BF_CL_PROGRAM_BUILD_LOG, 0, NULL,
                                  &bytes) != 0 ||
      bytes < 2)
    return;
  log = (char*)malloc(bytes);
  if (log == NULL) return;
  if (d->cl.clGetProgramBuildInfo(d->program, d->device, BF_CL_PROGRAM_BUILD_LOG, bytes, log,
                                  NULL) == 0 &&
      log[0] != '\0')
    (void)snprintf(d->text, sizeof d->text, "%.*s", (int)sizeof d->text - 1, log);
  free(log);
}

static inline int bf_opencl_build(bf_opencl_device* d, const char* more) {
  char options[256];
  const char** texts = (const char**)malloc(d->what.texts * sizeof *texts);
  bf_cl_int result = 0;
  size_t i;
  if (texts == NULL) return bf_opencl_fail(d, BF_DEVICE_CALL, "no memory", 0);
  for (i = 0; i < d->what.texts; ++i) texts[i] = d->what.source[i];
  d->program =
      d->cl.clCreateProgramWithSource(d->context, (bf_cl_uint)d->what.texts, texts, NULL, &result);
  free((void*)texts);
  if (!bf_opencl_did(d, result, "clCreateProgramWithSource")) return 0;
  (void)snprintf(options, sizeof options, "%s%s%s", BF_CL_OPTIONS, *more == '\0' ? "" : " ", more);
  result = d->cl.clBuildProgram(d->program, 1, &d->device, options, NULL, NULL);
  if (result == 0) return 1;
  bf_opencl_fail(d, BF_DEVICE_NOT_BUILT, "clBuildProgram", (long)result);
  bf_opencl_read_log(d);
  return 0;
}

static inline bf_cl_object* bf_opencl_memory(bf_opencl_device* d, bf_cl_bits kind, size_t bytes) {
  bf_cl_int result = 0;
  bf_cl_object* const made =
      d->cl.clCreateBuffer(d->context, kind, bytes == 0 ? 1 : bytes, NULL, &result);
  return bf_opencl_did(d, result, "clCreateBuffer") ? made : NULL;
}

static inline int bf_opencl_write(bf_opencl_device* d, bf_cl_object* to, size_t at,
                                  const void* from, size_t bytes) {
  return bytes == 0 || bf_opencl_did(d,
                                     d->cl.clEnqueueWriteBuffer(d->queue, to, BF_CL_TRUE, at, bytes,
                                                                from, 0, NULL, NULL),
                                     "clEnqueueWriteBuffer");
}

static inline int bf_opencl_read(bf_opencl_device* d, bf_cl_object* from, void* to, size_t bytes) {
  return bf_opencl_did(
      d, d->cl.clEnqueueReadBuffer(d->queue, from, BF_CL_TRUE, 0, bytes, to, 0, NULL, NULL),
      "clEnqueueReadBuffer");
}

/* Calls an entry point with these arguments, for so many boxes. team_bytes: of memory that each
 * group has, the last argument; 0: there is none. */
static inline int bf_opencl_call(bf_opencl_device* d, const char* name, size_t items,
                                 size_t team_bytes, size_t boxes, bf_cl_object* const* arguments,
                                 bf_cl_uint count) {
  const size_t global = boxes * items;
  bf_cl_int result = 0;
  bf_cl_uint i;
  int good;
  bf_cl_object* const kernel = d->cl.clCreateKernel(d->program, name, &result);
  if (!bf_opencl_did(d, result, "clCreateKernel")) return 0;
  good = 1;
  for (i = 0; i < count && good; ++i)
    good = bf_opencl_did(d, d->cl.clSetKernelArg(kernel, i, sizeof *arguments, &arguments[i]),
                         "clSetKernelArg");
  if (good && team_bytes > 0)
    good =
        bf_opencl_did(d, d->cl.clSetKernelArg(kernel, count, team_bytes, NULL), "clSetKernelArg");
  if (good) {
    result =
        d->cl.clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, &items, 0, NULL, NULL);
    if (result == BF_CL_INVALID_GROUP_SIZE)
      good = bf_opencl_fail(d, BF_DEVICE_GROUP, "too many items in a group of an entry point",
                            (long)items);
    else
      good = bf_opencl_did(d, result, "clEnqueueNDRangeKernel");
  }
  good = good && bf_opencl_did(d, d->cl.clFinish(d->queue), "clFinish");
  (void)d->cl.clReleaseKernel(kernel);
  return good;
}

static inline void bf_opencl_free(bf_opencl_device* d, bf_cl_object** memory) {
  if (*memory != NULL) (void)d->cl.clReleaseMemObject(*memory);
  *memory = NULL;
}

/* Compares the device's arithmetic with this processor's, on pairs of numbers. */
static inline int bf_opencl_probe(bf_opencl_device* d) {
  const size_t pairs = BF_PROBE_PAIRS;
  double* const numbers = (double*)malloc((2 + BF_PROBED) * pairs * sizeof(double));
  bf_cl_object* memory[3] = {NULL, NULL, NULL};
  size_t i;
  int good = numbers != NULL;
  if (!good) return bf_opencl_fail(d, BF_DEVICE_CALL, "no memory", 0);
  for (i = 0; i < pairs; ++i) bf_probe_pair(i, &numbers[i], &numbers[pairs + i]);
  for (i = 0; i < 3 && good; ++i) {
    memory[i] =
        bf_opencl_memory(d, BF_CL_MEM_READ_WRITE, (i < 2 ? 1 : BF_PROBED) * pairs * sizeof(double));
    good = memory[i] != NULL;
    if (good && i < 2)
      good = bf_opencl_write(d, memory[i], 0, numbers + i * pairs, pairs * sizeof(double));
  }
  good = good && bf_opencl_call(d, "bf_probe", 1, 0, pairs, memory, 3) &&
         bf_opencl_read(d, memory[2], numbers + 2 * pairs, BF_PROBED * pairs * sizeof(double));
  good = good && bf_probe_passes(numbers + 2 * pairs, &d->fault, d->text);
  for (i = 0; i < 3; ++i) bf_opencl_free(d, &memory[i]);
  free(numbers);
  return good;
}

static inline int bf_opencl_put_weights(bf_opencl_device* d) {
  size_t i;
  d->weights = bf_opencl_memory(d, BF_CL_MEM_READ_ONLY, d->what.weights_bytes);
  if (d->weights == NULL) return 0;
  for (i = 0; i < d->what.table_count; ++i) {
    const bf_device_table* const table = &d->what.tables[i];
    if (!bf_opencl_write(d, d->weights, table->offset, table->data, table->bytes)) return 0;
  }
  return 1;
}

/* The boxes whose arenas take no more than half of the memory, and no more than one piece of it. */
static inline size_t bf_opencl_most_boxes(const bf_opencl_device* d) {
  const bf_cl_bits all = bf_opencl_number(d, BF_CL_DEVICE_GLOBAL_MEM_SIZE, 8) / 2;
  const bf_cl_bits piece = bf_opencl_number(d, BF_CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
  const bf_cl_bits bytes = all < piece ? all : piece;
  const bf_cl_bits arena = d->what.arena_bytes == 0 ? 1 : d->what.arena_bytes;
  const size_t most = (size_t)(bytes / arena);
  if (most > BF_DEVICE_MOST_BOXES) return BF_DEVICE_MOST_BOXES;
  return most == 0 ? 1 : most;
}

/* Loads the library, and finds a device that says that it is fit. */
static inline int bf_opencl_find_fit(bf_opencl_device* d, const bf_device_program* what,
                                     size_t index) {
  memset(d, 0, sizeof *d);
  d->what = *what;
  return bf_opencl_load(d) && bf_opencl_find(d, index) && bf_opencl_is_fit(d);
}

/* Opens a device: its compiler takes the verifier, and its arithmetic is probed. `fault` and `text`
 * say why it is refused; bf_opencl_close() has to follow in any case. more: further options for its
 * compiler, of which none may relax its arithmetic. */
static inline int bf_opencl_open(bf_opencl_device* d, const bf_device_program* what, size_t index,
                                 const char* more) {
  bf_cl_int result = 0;
  if (!bf_opencl_find_fit(d, what, index)) return 0;
  d->context = d->cl.clCreateContext(NULL, 1, &d->device, NULL, NULL, &result);
  if (!bf_opencl_did(d, result, "clCreateContext")) return 0;
  d->queue = d->cl.clCreateCommandQueue(d->context, d->device, 0, &result);
  if (!bf_opencl_did(d, result, "clCreateCommandQueue")) return 0;
  d->most_boxes = bf_opencl_most_boxes(d);
  return bf_opencl_build(d, more) && bf_opencl_probe(d) && bf_opencl_put_weights(d);
}

static inline void bf_opencl_free_boxes(bf_opencl_device* d) {
  bf_opencl_free(d, &d->arenas);
  bf_opencl_free(d, &d->lower);
  bf_opencl_free(d, &d->upper);
  bf_opencl_free(d, &d->out_lower);
  bf_opencl_free(d, &d->out_upper);
  bf_opencl_free(d, &d->out_lines);
  d->boxes = 0;
  d->outputs = 0;
  d->lines = 0;
}

static inline void bf_opencl_close(bf_opencl_device* d) {
  if (d->context != NULL) {
    bf_opencl_free_boxes(d);
    bf_opencl_free(d, &d->weights);
  }
  if (d->program != NULL) (void)d->cl.clReleaseProgram(d->program);
  if (d->queue != NULL) (void)d->cl.clReleaseCommandQueue(d->queue);
  if (d->context != NULL) (void)d->cl.clReleaseContext(d->context);
  d->program = NULL;
  d->queue = NULL;
  d->context = NULL;
}

static inline int bf_opencl_make_room(bf_opencl_device* d, size_t boxes,
                                      const bf_device_results* results) {
  const size_t inputs = boxes * d->what.inputs * sizeof(float);
  const size_t made = boxes * results->outputs * sizeof(float);
  if (boxes <= d->boxes && results->outputs <= d->outputs && results->lines <= d->lines) return 1;
  bf_opencl_free_boxes(d);
  d->arenas = bf_opencl_memory(d, BF_CL_MEM_READ_WRITE, boxes * d->what.arena_bytes);
  d->lower = bf_opencl_memory(d, BF_CL_MEM_READ_ONLY, inputs);
  d->upper = bf_opencl_memory(d, BF_CL_MEM_READ_ONLY, inputs);
  d->out_lower = bf_opencl_memory(d, BF_CL_MEM_READ_WRITE, made);
  d->out_upper = bf_opencl_memory(d, BF_CL_MEM_READ_WRITE, made);
  d->out_lines = bf_opencl_memory(d, BF_CL_MEM_READ_WRITE, boxes * results->lines * sizeof(float));
  if (d->arenas == NULL || d->lower == NULL || d->upper == NULL || d->out_lower == NULL ||
      d->out_upper == NULL || d->out_lines == NULL) {
    bf_opencl_free_boxes(d);
    return 0;
  }
  d->boxes = boxes;
  d->outputs = results->outputs;
  d->lines = results->lines;
  return 1;
}

/* Reads results of boxes, `numbers` of each, into an array; those of refused boxes are left out. */
static inline int bf_opencl_read_results(bf_opencl_device* d, bf_cl_object* from, size_t boxes,
                                         size_t numbers, const bf_status* statuses, float* room,
                                         float* to) {
  if (!bf_opencl_read(d, from, room, boxes * numbers * sizeof(float))) return 0;
  bf_device_copy_outputs(boxes, numbers, statuses, room, to);
  return 1;
}

/* Bounds boxes of which the device has room for all. */
static inline int bf_opencl_bound_tile(bf_opencl_device* d, const bf_device_results* results,
                                       size_t boxes, const float* lower, const float* upper,
                                       const bf_status* statuses) {
  const size_t inputs = boxes * d->what.inputs * sizeof(float);
  const size_t most = results->lines > results->outputs ? results->lines : results->outputs;
  const size_t made = boxes * most * sizeof(float);
  bf_cl_object* arguments[7];
  float* room;
  int good;
  if (!bf_opencl_make_room(d, boxes, results)) return 0;
  arguments[0] = d->weights;
  arguments[1] = d->arenas;
  arguments[2] = d->lower;
  arguments[3] = d->upper;
  arguments[4] = d->out_lower;
  arguments[5] = d->out_upper;
  arguments[6] = d->out_lines;
  room = (float*)malloc(inputs > made ? inputs : made);
  if (room == NULL) return bf_opencl_fail(d, BF_DEVICE_CALL, "no memory", 0);
  bf_device_copy_boxes(boxes, d->what.inputs, statuses, lower, room);
  good = bf_opencl_write(d, d->lower, 0, room, inputs);
  bf_device_copy_boxes(boxes, d->what.inputs, statuses, upper, room);
  good = good && bf_opencl_write(d, d->upper, 0, room, inputs) &&
         bf_opencl_call(d, results->entry, d->what.items, d->what.team_bytes, boxes, arguments,
                        results->lines > 0 ? 7 : 6) &&
         bf_opencl_read_results(d, d->out_lower, boxes, results->outputs, statuses, room,
                                results->lower) &&
         bf_opencl_read_results(d, d->out_upper, boxes, results->outputs, statuses, room,
                                results->upper);
  if (good && results->lines > 0 && results->out_lines != NULL)
    good = bf_opencl_read_results(d, d->out_lines, boxes, results->lines, statuses, room,
                                  results->out_lines);
  free(room);
  return good;
}

/* Has an entry point bound boxes, as many at a time as the device has room for. statuses: those of
 * boxes that are no boxes, which are left out, else BF_OK. */
static inline int bf_opencl_call_entry(bf_opencl_device* d, const bf_device_results* results,
                                       size_t count, const float* lower, const float* upper,
                                       const bf_status* statuses) {
  size_t first;
  for (first = 0; first < count; first += d->most_boxes) {
    const size_t left = count - first;
    const size_t boxes = left < d->most_boxes ? left : d->most_boxes;
    const bf_device_results tile = bf_device_results_from(results, first);
    if (!bf_opencl_bound_tile(d, &tile, boxes, lower + first * d->what.inputs,
                              upper + first * d->what.inputs, statuses + first))
      return 0;
  }
  return 1;
}

/* Bounds boxes by an entry point that writes bounds alone. */
static inline int bf_opencl_bound(bf_opencl_device* d, const char* entry, size_t count,
                                  const float* lower, const float* upper, size_t outputs,
                                  float* out_lower, float* out_upper, const bf_status* statuses) {
  bf_device_results results;
  results.entry = entry;
  results.outputs = outputs;
  results.lines = 0;
  results.lower = out_lower;
  results.upper = out_upper;
  results.out_lines = NULL;
  return bf_opencl_call_entry(d, &results, count, lower, upper, statuses);
}

#endif /* BF_HOST_OPENCL_DEVICE_H */
