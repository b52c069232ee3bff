/* A library of OpenCL whose only device is faulty as BF_FALSE_DEVICE says, to try what refuses it:
 * "flushes" says that it flushes subnormals, "single" that it has no doubles, "divides" that
 * quotients are not rounded, "refuses" refuses every program, "inexact" returns zeros for what it
 * is to compute, "fails" runs nothing, "none" has no device, "narrow" has groups of 40 items at
 * most, "slow" has a compiler that takes an hour, and makes the file BF_FALSE_BEGUN when it begins,
 * "rounds" has the thread that calls its compiler round upwards from then on, "processor" is one.
 * It computes nothing. */

#include <fenv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int32_t Int;
typedef uint32_t Uint;
typedef struct Object {
  size_t bytes;
  void* data;
} Object;

static Object only;

static int is(const char* fault) {
  const char* const asked = getenv("BF_FALSE_DEVICE");
  return asked != NULL && strcmp(asked, fault) == 0;
}

Int clGetPlatformIDs(Uint most, Object** platforms, Uint* count) {
  if (most > 0 && platforms != NULL) platforms[0] = &only;
  if (count != NULL) *count = 1;
  return 0;
}

Int clGetDeviceIDs(Object* platform, uint64_t kind, Uint most, Object** devices, Uint* count) {
  (void)platform, (void)kind;
  if (is("none")) return -1;
  if (most > 0 && devices != NULL) devices[0] = &only;
  if (count != NULL) *count = 1;
  return 0;
}

Int clGetDeviceInfo(Object* device, Uint what, size_t bytes, void* to, size_t* made) {
  uint64_t number = (uint64_t)1 << 30; /* of all sizes */
  (void)device, (void)made;
  if (what == 0x102b) {
    (void)snprintf(to, bytes, "%s", "false device");
    return 0;
  }
  if (what == 0x1000) number = is("processor") ? 2 : 4; /* else a GPU */
  if (what == 0x1004 && is("narrow")) number = 40;      /* items of a group, at most */
  if (what == 0x1026) number = 1;                       /* little-endian */
  if (what == 0x101b) number = is("flushes") ? 0xfe : is("divides") ? 0x7f : 0xff;
  if (what == 0x1032) number = is("single") ? 0 : 0xff;
  memcpy(to, &number, bytes < sizeof number ? bytes : sizeof number);
  return 0;
}

Object* clCreateContext(const intptr_t* properties, Uint count, Object* const* devices,
                        void* notify, void* data, Int* result) {
  (void)properties, (void)count, (void)devices, (void)notify, (void)data;
  *result = 0;
  return &only;
}

Object* clCreateCommandQueue(Object* context, Object* device, uint64_t properties, Int* result) {
  (void)context, (void)device, (void)properties;
  *result = 0;
  return &only;
}

Object* clCreateProgramWithSource(Object* context, Uint count, const char** texts,
                                  const size_t* lengths, Int* result) {
  (void)context, (void)count, (void)texts, (void)lengths;
  *result = 0;
  return &only;
}

static void take_an_hour(void) {
  const char* const begun = getenv("BF_FALSE_BEGUN");
  FILE* const file = begun == NULL ? NULL : fopen(begun, "w");
  if (file != NULL) (void)fclose(file);
  (void)sleep(3600);
}

Int clBuildProgram(Object* program, Uint count, Object* const* devices, const char* options,
                   void* notify, void* data) {
  (void)program, (void)count, (void)devices, (void)notify, (void)data;
  if (strstr(options, "fast") != NULL) abort();
  if (is("slow")) take_an_hour();
  if (is("rounds")) (void)fesetround(FE_UPWARD);
  return is("refuses") ? -11 : 0;
}

Int clGetProgramBuildInfo(Object* program, Object* device, Uint what, size_t bytes, void* to,
                          size_t* made) {
  static const char log[] = "no such language";
  (void)program, (void)device, (void)what;
  if (made != NULL) *made = sizeof log;
  if (to != NULL && bytes >= sizeof log) memcpy(to, log, sizeof log);
  return 0;
}

Object* clCreateKernel(Object* program, const char* name, Int* result) {
  (void)program, (void)name;
  *result = 0;
  return &only;
}

Object* clCreateBuffer(Object* context, uint64_t kind, size_t bytes, void* data, Int* result) {
  Object* const made = malloc(sizeof *made);
  (void)context, (void)kind, (void)data;
  *result = made == NULL ? -6 : 0;
  if (made == NULL) return NULL;
  made->bytes = bytes;
  made->data = calloc(1, bytes);
  return made;
}

Int clSetKernelArg(Object* kernel, Uint index, size_t bytes, const void* value) {
  (void)kernel, (void)index, (void)bytes, (void)value;
  return 0;
}

Int clEnqueueNDRangeKernel(Object* queue, Object* kernel, Uint dimensions, const size_t* offset,
                           const size_t* global, const size_t* local, Uint count,
                           Object* const* events, Object** event) {
  (void)queue, (void)kernel, (void)dimensions, (void)offset, (void)global, (void)local;
  (void)count, (void)events, (void)event;
  return is("fails") ? -5 : 0;
}

Int clEnqueueReadBuffer(Object* queue, Object* from, Uint blocking, size_t at, size_t bytes,
                        void* to, Uint count, Object* const* events, Object** event) {
  (void)queue, (void)blocking, (void)count, (void)events, (void)event;
  memcpy(to, (char*)from->data + at, bytes);
  return 0;
}

Int clEnqueueWriteBuffer(Object* queue, Object* to, Uint blocking, size_t at, size_t bytes,
                         const void* from, Uint count, Object* const* events, Object** event) {
  (void)queue, (void)blocking, (void)count, (void)events, (void)event;
  memcpy((char*)to->data + at, from, bytes);
  return 0;
}

Int clFinish(Object* queue) {
  (void)queue;
  return 0;
}

Int clReleaseMemObject(Object* memory) {
  free(memory->data);
  free(memory);
  return 0;
}

Int clReleaseKernel(Object* kernel) {
  (void)kernel;
  return 0;
}
Int clReleaseProgram(Object* program) {
  (void)program;
  return 0;
}
Int clReleaseCommandQueue(Object* queue) {
  (void)queue;
  return 0;
}
Int clReleaseContext(Object* context) {
  (void)context;
  return 0;
}
