#include "CMedia.h"

#include "CScaler.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, PROBED = 4 << 20, PACKETS = 2000, LONGEST_START = 120 };

struct cm_media {
    AVFormatContext *format;
    AVIOContext *io;
    int descriptor;
};

static int read_bytes(void *opaque, uint8_t *bytes, int length) {
    ssize_t count = read(((cm_media *)opaque)->descriptor, bytes, length);
    return count > 0 ? (int)count : count == 0 ? AVERROR_EOF : AVERROR(EIO);
}

static int64_t seek_bytes(void *opaque, int64_t offset, int whence) {
    int descriptor = ((cm_media *)opaque)->descriptor;
    if (whence & AVSEEK_SIZE) {
        off_t here = lseek(descriptor, 0, SEEK_CUR), end = lseek(descriptor, 0, SEEK_END);
        lseek(descriptor, here, SEEK_SET);
        return end;
    }
    return lseek(descriptor, offset, whence & ~AVSEEK_FORCE);
}

cm_media *cm_open(int descriptor) {
    av_log_set_level(AV_LOG_QUIET);
    cm_media *media = calloc(1, sizeof *media);
    uint8_t *buffer = av_malloc(BUFFER);
    if (!media || !buffer) goto failed;
    media->descriptor = descriptor;
    lseek(descriptor, 0, SEEK_SET);
    media->io = avio_alloc_context(buffer, BUFFER, 0, media, read_bytes, NULL, seek_bytes);
    if (!media->io) goto failed;
    buffer = NULL;
    media->format = avformat_alloc_context();
    if (!media->format) goto failed;
    media->format->pb = media->io;
    media->format->probesize = PROBED;
    media->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    // No playlists: they name other files.
    media->format->format_whitelist = av_strdup(
        "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dts,eac3,flac,flv,h264,hevc,ivf,m4v,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpc,mpc8,"
        "mpeg,mpegts,mpegvideo,nut,ogg,opus,rm,tta,voc,vqf,w64,wav,wv");
    // Frees the context when it fails.
    if (avformat_open_input(&media->format, NULL, NULL, NULL) < 0) goto failed;
    if (avformat_find_stream_info(media->format, NULL) < 0) goto failed;
    return media;
failed:
    av_free(buffer);
    if (media) cm_close(media);
    return NULL;
}

void cm_close(cm_media *media) {
    avformat_close_input(&media->format);
    if (media->io) av_freep(&media->io->buffer);
    avio_context_free(&media->io);
    free(media);
}

const uint8_t *cm_cover(const cm_media *media, size_t *length) {
    for (unsigned index = 0; index < media->format->nb_streams; index++) {
        const AVStream *stream = media->format->streams[index];
        if (!(stream->disposition & AV_DISPOSITION_ATTACHED_PIC) || stream->attached_pic.size <= 0) continue;
        *length = stream->attached_pic.size;
        return stream->attached_pic.data;
    }
    return NULL;
}

// The frame, scaled.
static uint8_t *pixels(const AVFrame *frame, AVRational aspect, int side, int *width, int *height) {
    double wide = frame->width, high = frame->height;
    if (aspect.num > 0 && aspect.den > 0) wide = wide * aspect.num / aspect.den;
    if (wide < 1 || high < 1) return NULL;
    double scale = side / (wide > high ? wide : high);
    if (scale > 1) scale = 1;
    *width = wide * scale < 1 ? 1 : (int)(wide * scale + 0.5);
    *height = high * scale < 1 ? 1 : (int)(high * scale + 0.5);
    if (*width > side) *width = side;
    if (*height > side) *height = side;
    return cs_scaled(
        (const uint8_t *const *)frame->data, frame->linesize, frame->format, frame->width, frame->height, *width, *height, SWS_AREA);
}

uint8_t *cm_frame(cm_media *media, int side, int *width, int *height) {
    const AVCodec *codec = NULL;
    int index = av_find_best_stream(media->format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    if (index < 0 || !codec) return NULL;
    AVStream *stream = media->format->streams[index];
    AVCodecContext *decoder = avcodec_alloc_context3(codec);
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    uint8_t *result = NULL;
    if (!decoder || !packet || !frame || avcodec_parameters_to_context(decoder, stream->codecpar) < 0) goto done;
    decoder->thread_count = 1;
    if (avcodec_open2(decoder, codec, NULL) < 0) goto done;
    // A tenth into it: the first frames are often black.
    int64_t start = media->format->duration > 0 ? media->format->duration / 10 : 0;
    if (start > LONGEST_START * (int64_t)AV_TIME_BASE) start = LONGEST_START * (int64_t)AV_TIME_BASE;
    if (start > 0) av_seek_frame(media->format, -1, start, AVSEEK_FLAG_BACKWARD);
    for (int count = 0; count < PACKETS && !result; count++) {
        int end = av_read_frame(media->format, packet) < 0;
        if (!end && packet->stream_index != index) {
            av_packet_unref(packet);
            continue;
        }
        avcodec_send_packet(decoder, end ? NULL : packet);
        av_packet_unref(packet);
        if (avcodec_receive_frame(decoder, frame) >= 0)
            result = pixels(frame, av_guess_sample_aspect_ratio(media->format, stream, frame), side, width, height);
        else if (end) break;
    }
done:
    av_frame_free(&frame);
    av_packet_free(&packet);
    avcodec_free_context(&decoder);
    return result;
}

double cm_duration(const cm_media *media) {
    return media->format->duration > 0 ? (double)media->format->duration / AV_TIME_BASE : 0;
}

const char *cm_codec(const cm_media *media, int video, int *width, int *height) {
    for (unsigned index = 0; index < media->format->nb_streams; index++) {
        const AVStream *stream = media->format->streams[index];
        if (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) continue;
        if (stream->codecpar->codec_type != (video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO)) continue;
        *width = stream->codecpar->width;
        *height = stream->codecpar->height;
        return avcodec_get_name(stream->codecpar->codec_id);
    }
    return NULL;
}

const char *cm_tag(const cm_media *media, const char *name) {
    const AVDictionaryEntry *entry = av_dict_get(media->format->metadata, name, NULL, 0);
    for (unsigned index = 0; !entry && index < media->format->nb_streams; index++)
        entry = av_dict_get(media->format->streams[index]->metadata, name, NULL, 0);
    return entry ? entry->value : NULL;
}
