#include "CJpeg.h"

#include "CScaler.h"

#include <libswscale/swscale.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

enum { CHUNK = 64 << 10 };

struct source {
    struct jpeg_source_mgr manager;
    int descriptor;
    off_t offset;
    uint8_t bytes[CHUNK];
};

struct errors {
    struct jpeg_error_mgr manager;
    jmp_buf jump;
};

static void fail(j_common_ptr common) { longjmp(((struct errors *)common->err)->jump, 1); }

// A warning is damage: what follows is guessed.
static void warn(j_common_ptr common, int level) {
    if (level < 0) fail(common);
}

static void nothing(j_decompress_ptr decoder) { (void)decoder; }

static boolean fill(j_decompress_ptr decoder) {
    struct source *source = (struct source *)decoder->src;
    ssize_t count = pread(source->descriptor, source->bytes, CHUNK, source->offset);
    if (count <= 0) fail((j_common_ptr)decoder);
    source->offset += count;
    source->manager.next_input_byte = source->bytes;
    source->manager.bytes_in_buffer = count;
    return TRUE;
}

static void skip(j_decompress_ptr decoder, long count) {
    struct source *source = (struct source *)decoder->src;
    if (count <= 0) return;
    if ((size_t)count <= source->manager.bytes_in_buffer) {
        source->manager.next_input_byte += count;
        source->manager.bytes_in_buffer -= count;
    } else {
        source->offset += count - (long)source->manager.bytes_in_buffer;
        source->manager.bytes_in_buffer = 0;
    }
}

uint8_t *cj_decode(int descriptor, int width, int height) {
    struct jpeg_decompress_struct decoder;
    struct errors errors;
    struct source *source = calloc(1, sizeof *source);
    uint8_t *volatile pixels = NULL;
    uint8_t *result = NULL;
    if (!source) return NULL;
    source->descriptor = descriptor;
    source->manager.init_source = nothing;
    source->manager.term_source = nothing;
    source->manager.fill_input_buffer = fill;
    source->manager.skip_input_data = skip;
    source->manager.resync_to_restart = jpeg_resync_to_restart;
    decoder.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = fail;
    errors.manager.emit_message = warn;
    jpeg_create_decompress(&decoder);
    if (!setjmp(errors.jump)) {
        decoder.src = &source->manager;
        jpeg_read_header(&decoder, TRUE);
        if (decoder.jpeg_color_space != JCS_YCbCr && decoder.jpeg_color_space != JCS_GRAYSCALE) fail((j_common_ptr)&decoder);
        decoder.out_color_space = JCS_RGB;
        decoder.dct_method = JDCT_IFAST;
        // The smallest eighth that is not smaller than what is wanted.
        decoder.scale_denom = 8;
        for (decoder.scale_num = 1; decoder.scale_num < 8; decoder.scale_num++) {
            jpeg_calc_output_dimensions(&decoder);
            if ((int)decoder.output_width >= width && (int)decoder.output_height >= height) break;
        }
        jpeg_start_decompress(&decoder);
        size_t stride = (size_t)decoder.output_width * 3;
        pixels = malloc(stride * decoder.output_height + 64);
        if (!pixels) fail((j_common_ptr)&decoder);
        while (decoder.output_scanline < decoder.output_height) {
            JSAMPROW row = pixels + stride * decoder.output_scanline;
            jpeg_read_scanlines(&decoder, &row, 1);
        }
        jpeg_finish_decompress(&decoder);
        const uint8_t *planes[4] = {pixels};
        int strides[4] = {(int)stride};
        result = cs_scaled(
            planes, strides, AV_PIX_FMT_RGB24, decoder.output_width, decoder.output_height, width, height, SWS_AREA);
    }
    jpeg_destroy_decompress(&decoder);
    free(pixels);
    free(source);
    return result;
}
