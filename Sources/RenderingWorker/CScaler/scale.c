#include "CScaler.h"

#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>

uint8_t *cs_scaled(
    const uint8_t *const planes[], const int strides[], int format, int width, int height, int to_width, int to_height, int filter) {
    struct SwsContext *scaler =
        sws_getContext(width, height, format, to_width, to_height, AV_PIX_FMT_RGB24, filter, NULL, NULL, NULL);
    if (!scaler) return NULL;
    // swscale writes whole vectors, past a row's end.
    int stride = (to_width * 3 + 63) / 64 * 64;
    uint8_t *rows = NULL, *result = malloc((size_t)to_width * 3 * to_height);
    if (result && !posix_memalign((void **)&rows, 64, (size_t)stride * to_height + 64)) {
        sws_scale(scaler, planes, strides, 0, height, &rows, &stride);
        for (int row = 0; row < to_height; row++)
            memcpy(result + (size_t)row * to_width * 3, rows + (size_t)row * stride, (size_t)to_width * 3);
    } else {
        free(result);
        result = NULL;
    }
    free(rows);
    sws_freeContext(scaler);
    return result;
}
