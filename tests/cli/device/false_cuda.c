/* The driver and the compiler of CUDA, with one device that is this processor: sources are compiled
 * by g++, and a group has one item, so that what hosts do is run without a GPU. It is both
 * libraries, libcuda.so.1 and libnvrtc.so.13. BF_FALSE_DEVICE makes it faulty: "none" has no
 * device, "refuses" refuses every program, "inexact" returns zeros for the probe, "fails" runs no
 * entry point, "babbles" and "claims" write any bits, or bounds far above 0, for nodes of neurons,
 * "fails_later" runs each for them once, "sleeps" takes 20 ms for a call of an entry point.
 * BF_FALSE_FOLDER: where it compiles, each source once: what is compiled is kept by a hash of the
 * source, for all programs, so that the device is ready at once from then on. Compilers outlive a
 * program that ends; they hold a lock of the file "busy" there. BF_FALSE_COPIES: a file for the
 * bytes of each copy to the device. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef unsigned long long Pointer;

static const char* const words =
    "#define __CUDACC_RTC__\n#include <cstdint>\n#include <cstring>\n#include <cmath>\n"
    "#define __forceinline__ inline\n#define __device__\n#define __global__ "
    "__attribute__((visibility(\"default\")))\n"
    "#define __shared__ static\n#define __syncthreads() ((void)0)\n"
    "struct Place { unsigned x; };\nstatic Place blockIdx, threadIdx = {0}, blockDim = {1};\n"
    "extern \"C\" void false_at(unsigned block) { blockIdx.x = block; }\n"
    "template <class To, class From> static inline To of_bits(From x)\n"
    "{ To y; static_assert(sizeof x == sizeof y, \"\"); std::memcpy(&y, &x, sizeof y); return y; "
    "}\n"
    "static inline long long __double_as_longlong(double x) { return of_bits<long long>(x); }\n"
    "static inline double __longlong_as_double(long long x) { return of_bits<double>(x); }\n"
    "static inline unsigned __float_as_uint(float x) { return of_bits<unsigned>(x); }\n"
    "static inline float __uint_as_float(unsigned x) { return of_bits<float>(x); }\n"
    "static inline float __int_as_float(int x) { return of_bits<float>(x); }\n";

static int is(const char* fault) {
  const char* const asked = getenv("BF_FALSE_DEVICE");
  return asked != NULL && strcmp(asked, fault) == 0;
}

static const char* folder(void) {
  return getenv("BF_FALSE_FOLDER");
}

/* A name that no other program, and no other call, has. The two libraries differ in its begin. */
static void own_name(char* to, size_t bytes, const char* begin) {
  static atomic_int made;
  (void)snprintf(to, bytes, "%s/%s_%ld_%d", folder(), begin, (long)getpid(),
                 atomic_fetch_add(&made, 1));
}

/* ---- the compiler: code is the path of a shared object. */

typedef struct Program {
  char* source;
  char code[512];
} Program;

int nvrtcCreateProgram(Program** program, const char* source, const char* name, int headers,
                       const char* const* texts, const char* const* names) {
  (void)name, (void)texts, (void)names;
  if (headers != 5) return 1;
  *program = calloc(1, sizeof **program);
  (*program)->source = strdup(source);
  return 0;
}

/* FNV-1a. */
static uint64_t hash_of(const char* text, uint64_t hash) {
  for (; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

/* Compiles beside, and gives the object its name when it is whole. */
static int compile(const Program* program) {
  char name[400], file[420], command[2800];
  FILE* to;
  int busy, result;
  own_name(name, sizeof name, "source");
  (void)snprintf(file, sizeof file, "%s.cpp", name);
  to = fopen(file, "w");
  if (to == NULL) return 6;
  (void)fputs(words, to);
  (void)fputs(program->source, to);
  if (fclose(to) != 0) return 6;
  (void)snprintf(command, sizeof command,
                 "TMPDIR='%s' g++ -std=c++17 -O1 -ffp-contract=off -shared -fPIC -w %s -o %s.so && "
                 "mv %s.so %s",
                 folder(), file, name, name, program->code);
  (void)snprintf(file, sizeof file, "%s/busy", folder());
  busy = open(file, O_RDWR | O_CREAT, 0600); /* children inherit it, and the lock */
  if (busy < 0 || flock(busy, LOCK_SH) != 0) return 6;
  result = system(command);
  (void)close(busy);
  return result == 0 ? 0 : 6;
}

int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  int i;
  for (i = 0; i < count; ++i)
    if (strstr(options[i], "fast") != NULL || strstr(options[i], "ftz") != NULL) return 2;
  if (is("refuses") || folder() == NULL) return 6;
  (void)snprintf(program->code, sizeof program->code, "%s/%016llx.so", folder(),
                 (unsigned long long)hash_of(program->source, hash_of(words, 0xcbf29ce484222325u)));
  return access(program->code, R_OK) == 0 ? 0 : compile(program);
}

int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
  (void)program;
  *bytes = 8;
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
  (void)program;
  (void)strcpy(log, "no such");
  return 0;
}
int nvrtcGetCUBINSize(Program* program, size_t* bytes) {
  *bytes = strlen(program->code) + 1;
  return 0;
}
int nvrtcGetCUBIN(Program* program, char* code) {
  (void)strcpy(code, program->code);
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  free((*program)->source);
  free(*program);
  *program = NULL;
  return 0;
}

/* ---- the driver */

typedef struct Function {
  void* code;
  void (*at)(unsigned);
  char name[64];
} Function;

static char context;             /* the only one */
static _Thread_local int pushed; /* how often the thread made it the current one */

int cuInit(unsigned flags) {
  return (int)flags;
}
int cuDeviceGetCount(int* count) {
  *count = is("none") ? 0 : 1;
  return 0;
}
int cuDeviceGet(int* device, int number) {
  *device = number;
  return 0;
}
int cuDeviceGetName(char* name, int bytes, int device) {
  (void)device;
  (void)snprintf(name, (size_t)bytes, "false device");
  return 0;
}
int cuDeviceGetAttribute(int* value, int what, int device) {
  (void)device;
  *value = what == 1 ? 1 : what == 75 ? 9 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** made, int device) {
  (void)device;
  *made = &context;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return device;
}
int cuCtxPushCurrent_v2(void* made) {
  ++pushed;
  return made == &context ? 0 : 1;
}
int cuCtxPopCurrent_v2(void** before) {
  *before = NULL;
  --pushed;
  return 0;
}

static int copy_file(const char* from, const char* to) {
  FILE* const in = fopen(from, "rb");
  FILE* const out = in == NULL ? NULL : fopen(to, "wb");
  char bytes[1 << 14];
  size_t count;
  int good = out != NULL;
  while (good && (count = fread(bytes, 1, sizeof bytes, in)) > 0)
    good = fwrite(bytes, 1, count, out) == count;
  if (out != NULL) good = fclose(out) == 0 && good;
  if (in != NULL) (void)fclose(in);
  return good;
}

/* Each module has variables of its own, so it is loaded from a file of its own. */
int cuModuleLoadData(void** module, const void* code) {
  char name[400];
  if (pushed == 0) return 201;
  own_name(name, sizeof name, "module");
  *module = copy_file(code, name) ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (*module == NULL) (void)fprintf(stderr, "%s\n", dlerror());
  (void)unlink(name);
  return *module == NULL ? 200 : 0;
}
int cuModuleUnload(void* module) {
  return dlclose(module);
}
int cuModuleGetFunction(Function** function, void* module, const char* name) {
  Function* const made = calloc(1, sizeof *made); /* it lives as long as the process */
  made->code = dlsym(module, name);
  *(void**)&made->at = dlsym(module, "false_at");
  (void)snprintf(made->name, sizeof made->name, "%s", name);
  *function = made;
  return made->code == NULL ? 500 : 0;
}
int cuStreamSynchronize(void* stream) {
  (void)stream;
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == 719 ? "unspecified launch failure" : "a false error";
  return 0;
}
int cuMemGetInfo_v2(size_t* left, size_t* all) {
  *left = *all = (size_t)1 << 26;
  return 0;
}
int cuMemAlloc_v2(Pointer* made, size_t bytes) {
  *made = (Pointer)(uintptr_t)malloc(bytes);
  return pushed == 0 || *made == 0 ? 2 : 0;
}
int cuMemFree_v2(Pointer memory) {
  free((void*)(uintptr_t)memory);
  return 0;
}
int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void* stream) {
  const char* const log = getenv("BF_FALSE_COPIES");
  FILE* const file = log == NULL ? NULL : fopen(log, "a");
  (void)stream;
  if (file != NULL) {
    (void)fprintf(file, "%zu\n", bytes);
    (void)fclose(file);
  }
  memcpy((void*)(uintptr_t)to, from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void* stream) {
  (void)stream;
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  return 0;
}

/* Fills an array with what the fault says. */
static void babble(void* array) {
  const size_t count = malloc_usable_size(array) / sizeof(float);
  const float claim = 1e6F;
  size_t i;
  for (i = 0; i < count; ++i) {
    const int32_t bits = (int32_t)(((uint32_t)random() << 1) ^ (uint32_t)random());
    memcpy((float*)array + i, is("claims") ? (const void*)&claim : (const void*)&bits,
           sizeof(float));
  }
}

int cuLaunchKernel(Function* f, unsigned groups, unsigned y, unsigned z, unsigned items,
                   unsigned items_y, unsigned items_z, unsigned shared, void* stream,
                   void** arguments, void** more) {
  typedef void (*Probe)(void*, void*, void*);
  typedef void (*Check)(void*, void*, int, float, void*);
  typedef void (*Entry)(void*, void*, void*, void*, void*, void*, void*);
  void* p[7];
  unsigned group;
  int i, count;
  (void)stream;
  if (pushed == 0 || y * z * items * items_y * items_z != 1 || shared != 0 || more != NULL)
    return 1;
  count = strcmp(f->name, "bf_probe") == 0 || strncmp(f->name, "bf_peak_", 8) == 0 ? 3
          : strcmp(f->name, "bf_check_boxes") == 0                                 ? 2
                                                                                   : 7;
  if (count == 7 && is("fails")) return 719;
  if (count == 7 && is("sleeps")) (void)usleep(20000);
  for (i = 0; i < count; ++i) memcpy(&p[i], arguments[i], sizeof p[i]);
  if (strcmp(f->name, "bf_ascend_nodes") == 0 || strcmp(f->name, "bf_look_ahead") == 0) {
    static int calls = 0;
    if (is("fails_later") && ++calls > 2) return 719;
    if (is("babbles") || is("claims")) {
      babble(p[2]);
      babble(p[5]);
      babble(p[6]);
      return 0;
    }
  }
  for (group = 0; group < groups; ++group) {
    f->at(group);
    if (count == 3) {
      (*(Probe*)&f->code)(p[0], p[1], p[2]);
      if (is("inexact") && strcmp(f->name, "bf_probe") == 0)
        memset((double*)p[2] + 11 * (size_t)group, 0, 11 * sizeof(double));
    } else if (count == 2) {
      (*(Check*)&f->code)(p[0], p[1], *(int*)arguments[2], *(float*)arguments[3],
                          *(void**)arguments[4]);
    } else {
      (*(Entry*)&f->code)(p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
    }
  }
  return 0;
}
