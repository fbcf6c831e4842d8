// Scaling with FFmpeg's swscale, whose rows are longer than their pixels.
#pragma once
#include <stdint.h>

/// Pixels scaled to 8 bits each of red, green and blue, row by row without gaps. `format` is an AVPixelFormat, `filter` one of swscale's
/// SWS_ constants. The caller's, to be given back by free(3); NULL if there is no memory, or the format is not known.
uint8_t *cs_scaled(
    const uint8_t *const planes[], const int strides[], int format, int width, int height, int to_width, int to_height, int filter);
