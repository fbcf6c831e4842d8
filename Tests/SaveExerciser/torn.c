// Savers and readers of one document at once.
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exercises.h"
#include "reader.h"
#include "saver.h"
#include "version.h"

// With fewer, nothing was tried.
enum { least_saves = 12 };

struct tally {
    atomic_int stop;
    atomic_long reads, torn, failed_reads, older, versions, saves, failed_saves, unseen;
    atomic_int first_errno;
    double began;
};

struct plan {
    const char *path;
    long reads;
    size_t largest;
    unsigned pause;
    int savers;
};

// The environment's SAVER_PATH: where the savers find the document, by way of a file server.
static const char *saver_path(const char *path) {
    const char *other = getenv("SAVER_PATH");
    return other ? other : path;
}

// What is mapped after it was truncated late is written in place.
static enum save_way random_way(unsigned *seed) {
    enum save_way way = rand_r(seed) % save_ways;
    return way == by_mapping && (start_wanted() != truncating || getenv("SAVER_PATH")) ? in_pieces : way;
}

// Whether the version that was closed last is the one that is read. By way of a file server that is so when this has closed it, too.
static int is_seen(const struct plan *plan, uint64_t number, unsigned *seed) {
    double end = seconds_now() + (getenv("SAVER_PATH") ? 30 : 0);
    uint64_t seen;
    do {
        if (reader_named("read")(plan->path, seed, &seen) == whole && seen == number) return 1;
        usleep(500);
    } while (seconds_now() < end);
    return 0;
}

static void keep_saving(const struct plan *plan, int saver, struct tally *tally) {
    unsigned seed = saver * 7919 + getpid();
    for (uint64_t number = 1; !tally->stop; number++) {
        struct save save = {
            .path = saver_path(plan->path),
            .number = (uint64_t)(saver + 1) << 40 | number,
            .length = random_length(&seed, plan->largest),
            .way = random_way(&seed),
            .pieces = 1 + rand_r(&seed) % 8,
            .pause = rand_r(&seed) % 4 ? 0 : plan->pause,
        };
        int failure = save_version(&save, &seed);
        if (failure) {
            tally->failed_saves++;
            int none = 0;
            atomic_compare_exchange_strong(&tally->first_errno, &none, failure);
        } else tally->saves++;
        // Who has closed sees what it saved, if nobody else saves.
        if (plan->savers == 1 && !is_seen(plan, save.number, &seed)) tally->unseen++;
    }
}

static int is_too_early(const struct plan *plan, struct tally *tally) {
    return plan->savers ? tally->saves < least_saves : tally->versions < least_saves;
}

static void keep_reading(const struct plan *plan, read_function reader, int place, struct tally *tally) {
    unsigned seed = place * 104729 + getpid();
    uint64_t last = 0;
    double end = seconds_now() + 20;
    for (long count = 0; count < plan->reads || (is_too_early(plan, tally) && seconds_now() < end); count++) {
        uint64_t number;
        switch (reader(plan->path, &seed, &number)) {
        case whole:
            if (number != last) tally->versions++;
            if (plan->savers == 1 && number < last) tally->older++;
            last = number;
            break;
        case torn: {
            char found[200];
            describe_torn(found, sizeof found);
            fprintf(stderr, "torn, reader %d at %.3f s: %s\n", place, seconds_now() - tally->began, found);
            tally->torn++;
            break;
        }
        case failed: {
            int none = 0;
            atomic_compare_exchange_strong(&tally->first_errno, &none, errno);
            tally->failed_reads++;
        }
        }
        tally->reads++;
    }
}

// torn PATH SAVERS READS LARGEST PAUSE READER...: each reader reads READS times. Without savers, others save.
int torn_reads(int count, char **arguments) {
    if (count < 6) return 2;
    struct plan plan = {arguments[0], atol(arguments[2]), atol(arguments[3]), atol(arguments[4]), atoi(arguments[1])};
    struct tally *tally = shared_memory(sizeof *tally);
    tally->began = seconds_now();
    unsigned seed = 1;
    struct save first = {.path = plan.path, .length = smallest_version, .pieces = 1};
    if ((errno = save_version(&first, &seed)) != 0) die(plan.path);

    pid_t savers[plan.savers], readers[count - 5];
    for (int saver = 0; saver < plan.savers; saver++)
        if ((savers[saver] = fork()) == 0) {
            keep_saving(&plan, saver, tally);
            _exit(0);
        }
    for (int place = 0; place < count - 5; place++) {
        read_function reader = reader_named(arguments[place + 5]);
        if (!reader) return 2;
        if ((readers[place] = fork()) == 0) {
            keep_reading(&plan, reader, place, tally);
            _exit(0);
        }
    }
    int crashed = 0, status;
    for (int place = 0; place < count - 5; place++) {
        waitpid(readers[place], &status, 0);
        crashed += status != 0;
    }
    tally->stop = 1;
    for (int saver = 0; saver < plan.savers; saver++) {
        waitpid(savers[saver], &status, 0);
        crashed += status != 0;
    }
    uint64_t number;
    int ends_whole = reader_named("read")(plan.path, &seed, &number) == whole;
    printf("torn %ld older %ld failed %ld, failed saves %ld unseen %ld, crashed %d, at the end %s\n", tally->torn, tally->older,
           tally->failed_reads, tally->failed_saves, tally->unseen, crashed, ends_whole ? "whole" : "torn");
    fprintf(stderr, "reads %ld versions %ld saves %ld first failure: %s\n", tally->reads, tally->versions, tally->saves,
            strerror(tally->first_errno));
    if (tally->versions < 4 || (plan.savers && tally->saves < least_saves))
        printf("too few versions: %ld seen, %ld saved\n", tally->versions, tally->saves);
    return 0;
}

// check PATH...: which of these are not one whole version.
int check_versions(int count, char **arguments) {
    unsigned seed = 1;
    uint64_t number;
    for (int place = 0; place < count; place++)
        if (reader_named("read")(arguments[place], &seed, &number) != whole) printf("torn: %s\n", arguments[place]);
    return 0;
}

// version PATH [NUMBER LENGTH]: a whole version.
int one_version(int count, char **arguments) {
    if (count != 1 && count != 3) return 2;
    unsigned seed = 1;
    struct save save = {.path = arguments[0], .length = smallest_version, .pieces = 1};
    if (count == 3) save.number = strtoull(arguments[1], NULL, 10), save.length = strtoull(arguments[2], NULL, 10) & ~7ull;
    if ((errno = save_version(&save, &seed)) != 0) die(arguments[0]);
    return 0;
}

// loop PATH LARGEST PAUSE: saves until it is killed, or a call fails.
int endless_saver(int count, char **arguments) {
    if (count != 3) return 2;
    unsigned seed = getpid();
    for (uint64_t number = 1;; number++) {
        struct save save = {
            .path = arguments[0],
            .number = (uint64_t)getpid() << 32 | number,
            .length = random_length(&seed, atol(arguments[1])),
            .way = random_way(&seed),
            .pieces = 1 + rand_r(&seed) % 8,
            .pause = atoi(arguments[2]),
        };
        if ((errno = save_version(&save, &seed)) != 0) die(arguments[0]);
    }
}
