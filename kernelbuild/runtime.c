/* What compiled kernels need besides the C library: the memory of their arrays, as Numba lays it out, and what this
 * processor has. It is compiled for any processor of its kind. */
#include <stdint.h>
#include <stdlib.h>
#ifdef _WIN32
#define SHOWN __declspec(dllexport)
#else
#define SHOWN __attribute__((visibility("default")))
#endif
#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
#endif

/* Numba reads the first and the fourth field (numba/core/runtime/nrt.cpp, struct MemInfo) */
typedef struct {
    size_t references;
    void (*destroy)(void *, size_t, void *);
    void *details;
    void *data;
    size_t size;
    void *allocator;
} MemInfo;

SHOWN int64_t nd_live = 0; /* arrays that nobody has freed */

SHOWN void *NRT_MemInfo_alloc_aligned(size_t size, uint32_t align) {
    if (size > SIZE_MAX - sizeof(MemInfo) - align) return NULL;
    char *begin = malloc(sizeof(MemInfo) + size + align);
    if (begin == NULL) return NULL;
    uintptr_t data = (uintptr_t)(begin + sizeof(MemInfo));
    if (align && data % align) data += align - data % align;
    MemInfo *info = (MemInfo *)begin;
    *info = (MemInfo){1, NULL, NULL, (void *)data, size, NULL};
    __atomic_fetch_add(&nd_live, 1, __ATOMIC_RELAXED);
    return info;
}

SHOWN void NRT_MemInfo_call_dtor(MemInfo *info) {
    __atomic_fetch_sub(&nd_live, 1, __ATOMIC_RELAXED);
    free(info);
}

/* Several results of a call may be parts of one array. */
SHOWN void nd_release(MemInfo *info) {
    if (__atomic_sub_fetch(&info->references, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(info);
}

/* The words of cpuid that say which instructions there are, and 0 for other kinds of processors: leaf 1 ecx, leaf 7
 * ebx, ecx and edx, leaf 7.1 eax, leaf 0x80000001 ecx; without what the system does not save. */
SHOWN void nd_processor(uint32_t words[6]) {
    for (int k = 0; k < 6; k++) words[k] = 0;
#if defined(__x86_64__) || defined(_M_X64)
    static const uint32_t instructions[6] = {0x76d83201u, 0xf1bf09e9u, 0x00405f42u, 0x0080010cu, 0x00800430u, 0x00210861u};
    uint32_t a, b, c, d, saved = 0;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        words[0] = c;
        if (c & (1u << 27)) {
            uint32_t high;
            __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
        }
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        words[1] = b, words[2] = c, words[3] = d;
        if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) words[4] = a;
    }
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) words[5] = c;
    for (int k = 0; k < 6; k++) words[k] &= instructions[k];
    if ((saved & 0x06) != 0x06) { /* AVX, FMA, F16C; AVX2, VAES, VPCLMULQDQ, AVX-VNNI; XOP, FMA4 */
        words[0] &= ~0x30001000u, words[1] &= ~0x00000020u, words[2] &= ~0x00000600u, words[4] &= ~0x00000010u;
        words[5] &= ~0x00010800u;
    }
    if ((saved & 0xe6) != 0xe6) { /* AVX-512 */
        words[1] &= ~0xd0230000u, words[2] &= ~0x00005842u, words[3] &= ~0x0080010cu, words[4] &= ~0x00000020u;
    }
#endif
}
