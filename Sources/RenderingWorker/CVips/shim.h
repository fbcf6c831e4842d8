// libvips, whose operations take their options as variable arguments, which Swift cannot call.
#pragma once
#include <vips/vips.h>

/// The image in `source`, at most width x height, upright, in its own colours. `grows`: also what is smaller is brought to that size. `page`
/// counts from 0. NULL: see vips_error_buffer(3).
static inline VipsImage *cv_thumbnail(VipsSource *source, int width, int height, int grows, int page) {
    VipsImage *result = NULL;
    char options[32] = "";
    if (page > 0) g_snprintf(options, sizeof options, "[page=%d]", page);
    vips_thumbnail_source(
        source, &result, width, "height", height, "size", grows ? VIPS_SIZE_BOTH : VIPS_SIZE_DOWN, "fail_on",
        VIPS_FAIL_ON_TRUNCATED, "option_string", options, NULL);
    return result;
}

/// The same for a format that libvips only reads from memory.
static inline VipsImage *cv_thumbnail_memory(const void *bytes, size_t length, int width, int height) {
    VipsImage *result = NULL;
    vips_thumbnail_buffer(
        (void *)bytes, length, &result, width, "height", height, "size", VIPS_SIZE_DOWN, "fail_on", VIPS_FAIL_ON_TRUNCATED,
        NULL);
    return result;
}

/// What the header says, without decoding more.
static inline VipsImage *cv_header(VipsSource *source) { return vips_image_new_from_source(source, "", NULL); }

static inline int cv_is_jpeg(VipsImage *header) {
    const char *loader;
    return vips_image_get_typeof(header, VIPS_META_LOADER) && !vips_image_get_string(header, VIPS_META_LOADER, &loader)
        && g_str_has_prefix(loader, "jpegload");
}

/// Pixels of three bands that were decoded elsewhere, turned as `header` says, and with its colour profile.
static inline VipsImage *cv_upright(const void *pixels, int width, int height, VipsImage *header) {
    VipsImage *result = NULL, *image = vips_image_new_from_memory_copy(pixels, (size_t)width * height * 3, width, height, 3, VIPS_FORMAT_UCHAR);
    if (!image) return NULL;
    image->Type = VIPS_INTERPRETATION_sRGB;
    const void *profile;
    size_t length;
    if (vips_image_get_typeof(header, VIPS_META_ICC_NAME) && !vips_image_get_blob(header, VIPS_META_ICC_NAME, &profile, &length))
        vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, length);
    // An operation that has nothing to do takes as long as one that has.
    if (vips_image_get_orientation(header) <= 1) return image;
    vips_image_set_int(image, VIPS_META_ORIENTATION, vips_image_get_orientation(header));
    vips_autorot(image, &result, NULL);
    g_object_unref(image);
    return result;
}

static inline int cv_names(const char *bytes, size_t length, const char *name, size_t name_length) {
    for (size_t start = 0; start + name_length <= length; start++)
        if (!memcmp(bytes + start, name, name_length)) return 1;
    return 0;
}

/// In 8 bits of sRGB. A colour profile is looked at in the small picture only: to take one into use costs as much as decoding a
/// million pixels, so that of sRGB itself is passed over.
static inline VipsImage *cv_srgb(VipsImage *image) {
    VipsImage *colours = NULL, *result = NULL;
    const void *profile;
    size_t length;
    int has_profile = vips_image_get_typeof(image, VIPS_META_ICC_NAME) && !vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &length);
    if (has_profile && !cv_names((const char *)profile, length, "sRGB", 4))
        // A damaged profile is as none.
        if (vips_icc_transform(image, &colours, "srgb", "embedded", 1, NULL)) vips_error_clear();
    if (!colours && image->Type == VIPS_INTERPRETATION_sRGB && image->BandFmt == VIPS_FORMAT_UCHAR) return g_object_ref(image);
    if (!colours && vips_colourspace(image, &colours, VIPS_INTERPRETATION_sRGB, NULL)) return NULL;
    vips_cast_uchar(colours, &result, NULL);
    g_object_unref(colours);
    return result;
}

/// The pixels, row after row, which live as long as `image`.
static inline const void *cv_pixels(VipsImage *image) {
    return vips_image_wio_input(image) ? NULL : VIPS_IMAGE_ADDR(image, 0, 0);
}

/// Text as Pango lays it out, wrapped at `width` pixels: coverage, in one band.
static inline VipsImage *cv_text(const char *markup, const char *font, int width, int dpi) {
    VipsImage *result = NULL;
    vips_text(&result, markup, "font", font, "width", width, "dpi", dpi, "wrap", VIPS_TEXT_WRAP_CHAR, NULL);
    return result;
}

/// A sheet of width x height in one grey, as sRGB.
static inline VipsImage *cv_sheet(int width, int height, int grey) {
    VipsImage *black = NULL, *sheet = NULL, *result = NULL;
    if (vips_black(&black, width, height, "bands", 3, NULL)) return NULL;
    if (!vips_linear1(black, &sheet, 1, grey, "uchar", 1, NULL)) vips_copy(sheet, &result, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
    g_object_unref(black);
    if (sheet) g_object_unref(sheet);
    return result;
}

/// `sheet` with `ink` where `coverage`, moved by x and y, covers it.
static inline VipsImage *cv_inked(VipsImage *sheet, VipsImage *coverage, VipsImage *ink, int x, int y) {
    VipsImage *placed = NULL, *result = NULL;
    if (vips_embed(coverage, &placed, x, y, sheet->Xsize, sheet->Ysize, NULL)) return NULL;
    vips_ifthenelse(placed, ink, sheet, &result, "blend", 1, NULL);
    g_object_unref(placed);
    return result;
}

static inline VipsImage *cv_inserted(VipsImage *sheet, VipsImage *picture, int x, int y) {
    VipsImage *result = NULL;
    vips_insert(sheet, picture, &result, x, y, NULL);
    return result;
}

/// Without transparency, on the grey.
static inline VipsImage *cv_flat(VipsImage *image, double grey) {
    VipsImage *result = NULL;
    VipsArrayDouble *background = vips_array_double_newv(1, grey);
    vips_flatten(image, &result, "background", background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return result;
}

/// The left upper part, at most width x height.
static inline VipsImage *cv_cropped(VipsImage *image, int width, int height) {
    VipsImage *result = NULL;
    vips_crop(image, &result, 0, 0, VIPS_MIN(width, image->Xsize), VIPS_MIN(height, image->Ysize), NULL);
    return result;
}

/// Has `end` called with what is attached when the image is not needed any more, nor what was made of it.
static inline void cv_attach(VipsImage *image, const char *name, void *attached, void (*end)(void *)) {
    g_object_set_data_full(G_OBJECT(image), name, attached, end);
}
