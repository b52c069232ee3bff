/* What code that was compiled with the headers of a newer glibc calls and glibc 2.28 lacks. It is
 * linked, hidden, into the portable program and libraries (.ci/portable), whose other calls are
 * those of glibc 2.28. For x86-64 and AArch64. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

/* glibc 2.33 made functions of what were inline calls of these. */
#ifdef __aarch64__
enum { kStatVersion = 0 };
#define OLDEST "GLIBC_2.17" /* the first glibc of this processor */
#else
enum { kStatVersion = 1 };
#define OLDEST "GLIBC_2.2.5"
#endif
int __xstat(int version, const char* path, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int file, struct stat* result);
int __fxstatat(int version, int folder, const char* path, struct stat* result, int flags);

int stat(const char* path, struct stat* result) {
  return __xstat(kStatVersion, path, result);
}
int lstat(const char* path, struct stat* result) {
  return __lxstat(kStatVersion, path, result);
}
int fstat(int file, struct stat* result) {
  return __fxstat(kStatVersion, file, result);
}
int fstat64(int file, struct stat64* result) {
  return __fxstat(kStatVersion, file, (struct stat*)result);
}
int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return __fxstatat(kStatVersion, folder, path, result, flags);
}

/* glibc 2.32: whether the process has one thread. It never says so: atomic operations are always
 * right. */
char __libc_single_threaded = 0;

/* glibc 2.36. */
void arc4random_buf(void* bytes, size_t size) {
  char* at = bytes;
  while (size > 0) {
    const ssize_t got = getrandom(at, size, 0);
    if (got > 0) {
      at += got;
      size -= (size_t)got;
    }
  }
}
uint32_t arc4random(void) {
  uint32_t value = 0;
  arc4random_buf(&value, sizeof value);
  return value;
}

/* glibc 2.30: waits by a clock of the caller's. A condition variable waits by CLOCK_REALTIME, so
 * that the time is converted; who calls it looks at its own clock again. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, end;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &end);
  long long nanoseconds = (long long)end.tv_nsec + until->tv_nsec - now.tv_nsec;
  long long seconds = (long long)end.tv_sec + until->tv_sec - now.tv_sec;
  while (nanoseconds < 0) {
    nanoseconds += 1000000000;
    --seconds;
  }
  end.tv_sec = (time_t)(seconds + nanoseconds / 1000000000);
  end.tv_nsec = (long)(nanoseconds % 1000000000);
  return pthread_cond_timedwait(condition, mutex, &end);
}

/* glibc 2.35: the loaded object that holds an address, and its table for exceptions, which libgcc
 * asks for. */
struct Search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_at(struct dl_phdr_info* object, size_t size, void* data) {
  const struct Search* search = data;
  const void* table = NULL;
  int holds = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) table = (const void*)start;
    if (part->p_type == PT_LOAD && search->address - start < part->p_memsz) {
      holds = 1;
      search->found->dlfo_map_start = (void*)start;
      search->found->dlfo_map_end = (void*)(start + part->p_memsz);
    }
  }
  if (!holds || table == NULL) return 0;
  search->found->dlfo_eh_frame = (void*)table;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct Search search = {(uintptr_t)address, result};
  memset(result, 0, sizeof *result);
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

/* glibc 2.29 has new versions of these; the older ones give the same values. */
#define OLDER_1(name)                                   \
  __asm__(".symver older_" #name "," #name "@" OLDEST); \
  double older_##name(double x);                        \
  double __wrap_##name(double x) {                      \
    return older_##name(x);                             \
  }
OLDER_1(exp)
OLDER_1(exp2)
OLDER_1(log)
OLDER_1(log2)
__asm__(".symver older_pow,pow@" OLDEST);
double older_pow(double x, double y);
double __wrap_pow(double x, double y) {
  return older_pow(x, y);
}
