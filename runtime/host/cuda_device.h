#ifndef BF_HOST_CUDA_DEVICE_H
#define BF_HOST_CUDA_DEVICE_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/device.h"

/* Verifiers on CUDA devices, in CUDA C++: the host's part of a source that holds both. For
 * programs, not for verifiers. */

/* Entry points of verifiers. */
typedef void (*bf_cuda_entry)(const unsigned char*, unsigned char*, const float*, const float*,
                              float*, float*);
typedef void (*bf_cuda_probe)(const double*, const double*, double*);

typedef struct bf_cuda_device {
  bf_device_program what;
  bf_device_fault fault;
  char text[BF_DEVICE_TEXT];
  int index;
  unsigned char* weights;
  /* Memory of a batch of `boxes` boxes. */
  unsigned char* arenas;
  float* lower;
  float* upper;
  float* out_lower;
  float* out_upper;
  size_t boxes;
  size_t outputs;
  size_t most_boxes;
} bf_cuda_device;

/* Notes a failure, of which the first counts. Returns false. */
static inline int bf_cuda_fail(bf_cuda_device* d, bf_device_fault fault, const char* what,
                               const char* why) {
  if (d->fault != BF_DEVICE_READY) return 0;
  d->fault = fault;
  (void)snprintf(d->text, sizeof d->text, "%s: %s", what, why);
  return 0;
}

static inline int bf_cuda_did(bf_cuda_device* d, cudaError_t result, const char* what) {
  return result == cudaSuccess ? 1
                               : bf_cuda_fail(d, BF_DEVICE_CALL, what, cudaGetErrorString(result));
}

static inline int bf_cuda_memory(bf_cuda_device* d, void** made, size_t bytes) {
  return bf_cuda_did(d, cudaMalloc(made, bytes == 0 ? 1 : bytes), "cudaMalloc");
}

static inline void bf_cuda_free_boxes(bf_cuda_device* d) {
  (void)cudaFree(d->arenas);
  (void)cudaFree(d->lower);
  (void)cudaFree(d->upper);
  (void)cudaFree(d->out_lower);
  (void)cudaFree(d->out_upper);
  d->arenas = NULL;
  d->lower = NULL;
  d->upper = NULL;
  d->out_lower = NULL;
  d->out_upper = NULL;
  d->boxes = 0;
  d->outputs = 0;
}

static inline void bf_cuda_close(bf_cuda_device* d) {
  bf_cuda_free_boxes(d);
  (void)cudaFree(d->weights);
  d->weights = NULL;
}

/* Compares the device's arithmetic with this processor's, on pairs of numbers. */
static inline int bf_cuda_probe_device(bf_cuda_device* d, bf_cuda_probe probe) {
  const size_t pairs = BF_PROBE_PAIRS;
  const size_t bytes = (2 + BF_PROBED) * pairs * sizeof(double);
  double* const numbers = (double*)malloc(bytes);
  void* memory = NULL;
  size_t i;
  int good = numbers != NULL && bf_cuda_memory(d, &memory, bytes);
  if (numbers == NULL) return bf_cuda_fail(d, BF_DEVICE_CALL, "malloc", "no memory");
  for (i = 0; i < pairs; ++i) bf_probe_pair(i, &numbers[i], &numbers[pairs + i]);
  good = good &&
         bf_cuda_did(d, cudaMemcpy(memory, numbers, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  if (good) {
    double* const at = (double*)memory;
    probe<<<(unsigned)pairs, 1>>>(at, at + pairs, at + 2 * pairs);
    good = bf_cuda_did(d, cudaGetLastError(), "bf_probe") &&
           bf_cuda_did(d, cudaMemcpy(numbers, memory, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  good = good && bf_probe_passes(numbers + 2 * pairs, &d->fault, d->text);
  (void)cudaFree(memory);
  free(numbers);
  return good;
}

static inline int bf_cuda_put_weights(bf_cuda_device* d) {
  size_t i;
  if (!bf_cuda_memory(d, (void**)&d->weights, d->what.weights_bytes)) return 0;
  for (i = 0; i < d->what.table_count; ++i) {
    const bf_device_table* const table = &d->what.tables[i];
    if (!bf_cuda_did(d,
                     cudaMemcpy(d->weights + table->offset, table->data, table->bytes,
                                cudaMemcpyHostToDevice),
                     "cudaMemcpy"))
      return 0;
  }
  return 1;
}

/* Opens device `index` and probes its arithmetic. `fault` and `text` say why it is refused;
 * bf_cuda_close() has to follow in any case. */
static inline int bf_cuda_open(bf_cuda_device* d, const bf_device_program* what, size_t index,
                               bf_cuda_probe probe) {
  size_t free_bytes = 0, all_bytes = 0, arena;
  int count = 0;
  memset(d, 0, sizeof *d);
  d->what = *what;
  d->index = (int)index;
  if (cudaGetDeviceCount(&count) != cudaSuccess || index >= (size_t)count)
    return bf_cuda_fail(d, BF_DEVICE_NOT_FOUND, "CUDA", "there is no device of this number");
  if (!bf_cuda_did(d, cudaSetDevice(d->index), "cudaSetDevice") ||
      !bf_cuda_did(d, cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo"))
    return 0;
  arena = what->arena_bytes == 0 ? 1 : what->arena_bytes;
  d->most_boxes = free_bytes / 2 / arena;
  if (d->most_boxes > BF_DEVICE_MOST_BOXES) d->most_boxes = BF_DEVICE_MOST_BOXES;
  if (d->most_boxes == 0) d->most_boxes = 1;
  return bf_cuda_probe_device(d, probe) && bf_cuda_put_weights(d);
}

static inline int bf_cuda_make_room(bf_cuda_device* d, size_t boxes, size_t outputs) {
  const size_t inputs = boxes * d->what.inputs * sizeof(float);
  const size_t made = boxes * outputs * sizeof(float);
  if (boxes <= d->boxes && outputs <= d->outputs) return 1;
  bf_cuda_free_boxes(d);
  if (!bf_cuda_memory(d, (void**)&d->arenas, boxes * d->what.arena_bytes) ||
      !bf_cuda_memory(d, (void**)&d->lower, inputs) ||
      !bf_cuda_memory(d, (void**)&d->upper, inputs) ||
      !bf_cuda_memory(d, (void**)&d->out_lower, made) ||
      !bf_cuda_memory(d, (void**)&d->out_upper, made)) {
    bf_cuda_free_boxes(d);
    return 0;
  }
  d->boxes = boxes;
  d->outputs = outputs;
  return 1;
}

static inline int bf_cuda_copy(bf_cuda_device* d, void* to, const void* from, size_t bytes,
                               cudaMemcpyKind kind, cudaStream_t stream) {
  return bf_cuda_did(d, cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
}

/* Bounds boxes of which the device has room for all, in the order of a stream. */
static inline int bf_cuda_bound_tile(bf_cuda_device* d, bf_cuda_entry entry, size_t boxes,
                                     const float* lower, const float* upper, size_t outputs,
                                     float* out_lower, float* out_upper, const bf_status* statuses,
                                     cudaStream_t stream) {
  const size_t inputs = boxes * d->what.inputs * sizeof(float);
  const size_t made = boxes * outputs * sizeof(float);
  const size_t most = boxes * (d->what.inputs > outputs ? d->what.inputs : outputs);
  float* room;
  int good;
  if (!bf_cuda_make_room(d, boxes, outputs)) return 0;
  room = (float*)malloc(2 * most * sizeof(float)); /* lower ends, then upper ones */
  if (room == NULL) return bf_cuda_fail(d, BF_DEVICE_CALL, "malloc", "no memory");
  bf_device_copy_boxes(boxes, d->what.inputs, statuses, lower, room);
  bf_device_copy_boxes(boxes, d->what.inputs, statuses, upper, room + most);
  good = bf_cuda_copy(d, d->lower, room, inputs, cudaMemcpyHostToDevice, stream) &&
         bf_cuda_copy(d, d->upper, room + most, inputs, cudaMemcpyHostToDevice, stream);
  if (good) {
    entry<<<(unsigned)boxes, (unsigned)d->what.items, 0, stream>>>(
        d->weights, d->arenas, d->lower, d->upper, d->out_lower, d->out_upper);
    good = bf_cuda_did(d, cudaGetLastError(), "entry point") &&
           bf_cuda_did(d, cudaStreamSynchronize(stream), "cudaStreamSynchronize") &&
           bf_cuda_copy(d, room, d->out_lower, made, cudaMemcpyDeviceToHost, stream) &&
           bf_cuda_copy(d, room + most, d->out_upper, made, cudaMemcpyDeviceToHost, stream) &&
           bf_cuda_did(d, cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  if (good) {
    bf_device_copy_outputs(boxes, outputs, statuses, room, out_lower);
    bf_device_copy_outputs(boxes, outputs, statuses, room + most, out_upper);
  }
  free(room);
  return good;
}

/* Bounds boxes, as many at a time as the device has room for. statuses: those of boxes that are no
 * boxes, which are left out, else BF_OK. */
static inline int bf_cuda_bound(bf_cuda_device* d, bf_cuda_entry entry, size_t count,
                                const float* lower, const float* upper, size_t outputs,
                                float* out_lower, float* out_upper, const bf_status* statuses,
                                void* stream) {
  size_t first;
  if (!bf_cuda_did(d, cudaSetDevice(d->index), "cudaSetDevice")) return 0;
  for (first = 0; first < count; first += d->most_boxes) {
    const size_t left = count - first;
    const size_t boxes = left < d->most_boxes ? left : d->most_boxes;
    if (!bf_cuda_bound_tile(d, entry, boxes, lower + first * d->what.inputs,
                            upper + first * d->what.inputs, outputs, out_lower + first * outputs,
                            out_upper + first * outputs, statuses + first, (cudaStream_t)stream))
      return 0;
  }
  return 1;
}

#endif /* BF_HOST_CUDA_DEVICE_H */
