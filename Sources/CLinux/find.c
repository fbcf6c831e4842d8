#include "find.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

const void *cl_find(const void *text, size_t length, const void *pattern, size_t pattern_length) {
    const char *at = text;
#ifdef __SSE2__
    // 32 places at once, by the pattern's first and last byte.
    const char *wanted = pattern;
    if (pattern_length >= 2) {
        const size_t end = pattern_length - 1;
        const __m128i first = _mm_set1_epi8(wanted[0]), last = _mm_set1_epi8(wanted[end]);
        for (; length >= pattern_length + 31; at += 32, length -= 32) {
            unsigned places = 0;
            for (int half = 0; half < 2; half++) {
                const __m128i begins = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(at + 16 * half)), first);
                const __m128i ends = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(at + 16 * half + end)), last);
                places |= (unsigned)_mm_movemask_epi8(_mm_and_si128(begins, ends)) << 16 * half;
            }
            for (; places; places &= places - 1) {
                const char *place = at + __builtin_ctz(places);
                if (!memcmp(place, wanted, pattern_length)) return place;
            }
        }
    }
#endif
    return memmem(at, length, pattern, pattern_length);
}
