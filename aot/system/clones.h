#pragma once

// Written before a function, this makes one copy of it for each instruction set, chosen when the
// program starts. That is before the thread sanitizer is ready, which crashes then.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define BF_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BF_CLONES
#endif
