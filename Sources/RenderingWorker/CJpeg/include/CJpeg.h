// Decoding JPEG at a fraction of its size with libjpeg-turbo, which reports errors by longjmp(3): that may not pass through Swift.
#pragma once
#include <stdint.h>

/// The pixels of a JPEG file, 8 bits each of red, green and blue, scaled so that they fill `width` x `height` exactly. Less than
/// what is in the file is decoded, as far as the format goes. The caller's, to be given back by free(3); NULL if it is damaged, cut
/// short, or of colours other than grey and YCbCr.
uint8_t *cj_decode(int descriptor, int width, int height);
