// Writing PNG files with libpng, which reports errors by longjmp(3): that may not pass through Swift.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Encodes `width` x `height` pixels of 8 bits, three (RGB) or four (RGBA) of them each, without gaps. The file's bytes are the
/// caller's, to be given back by free(3); NULL if there is no memory for them.
uint8_t *cp_encode(const uint8_t *pixels, int width, int height, int bands, size_t *length);

/// The check sum of a chunk: of its type and its content.
uint32_t cp_checksum(const uint8_t *bytes, size_t length);
