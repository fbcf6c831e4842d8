// Sound and film with FFmpeg's libraries, whose structures and macros Swift does not take well.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cm_media cm_media;

/// Opens what is to be read at `descriptor`, which stays the caller's. NULL if it is neither sound nor film.
cm_media *cm_open(int descriptor);
void cm_close(cm_media *media);

/// The cover that the file brings along, as an image file; NULL if it has none. Valid until `cm_close`.
const uint8_t *cm_cover(const cm_media *media, size_t *length);

/// A frame from the first minutes, 8 bits each of red, green and blue, at most `side` pixels wide and high, upright pixels being
/// square. The caller's, to be given back by free(3); NULL if there is none that can be decoded.
uint8_t *cm_frame(cm_media *media, int side, int *width, int *height);

/// Seconds; 0 if it does not say.
double cm_duration(const cm_media *media);

/// The name of the codec of the picture (`video`) or the sound, with the picture's size in pixels; NULL if there is none.
const char *cm_codec(const cm_media *media, int video, int *width, int *height);

/// What a tag says, such as "title"; NULL if there is none. Valid until `cm_close`.
const char *cm_tag(const cm_media *media, const char *name);
