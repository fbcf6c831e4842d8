// Savers whose end is hard to see: who holds the document, and whether it was killed.
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exercises.h"
#include "reader.h"
#include "version.h"

enum { length = 64 << 10, half = length / 2 };

// How far the saver has come.
enum stage { begun, halfway, saved };

struct round {
    const char *path;
    // The new version.
    const char *content;
    volatile int *stage;
    // The whole of it is saved, and the saver ends of its own will.
    int ends;
    // In microseconds.
    unsigned pause;
};

static void wait_for_death(void) {
    for (;;) pause();
}
static void reach(const struct round *round, enum stage stage) { *round->stage = stage; }
static int opened(const struct round *round, int flags) {
    int file = open(round->path, flags | O_TRUNC | O_CLOEXEC);
    if (file < 0) die(round->path);
    return file;
}
static void write_at(int file, const char *content, size_t count) {
    if ((errno = write_all(file, content, count)) != 0) die("write");
}

// A shell is killed while a program that it has started runs, or goes on to write.
static void shell(const struct round *round, const char *after) {
    char name[] = "/tmp/SaveExerciser.XXXXXX", command[256];
    int part = mkstemp(name), file = opened(round, O_WRONLY);
    if (part < 0) die(name);
    write_at(part, round->content, half);
    dup2(file, 1);
    snprintf(command, sizeof command, "cat %s; rm %s; kill -USR1 %d; sh -c 'sleep 0.1; %s'; echo rest", name, name, getppid(), after);
    execlp("dash", "dash", "-c", command, NULL);
    die("dash");
}
static void run_shell(const struct round *round) { shell(round, "true"); }
static void run_writing_shell(const struct round *round) { shell(round, "echo more"); }

// A thread has a table of descriptors of its own and forks.
static void *thread_with_table(void *argument) {
    const struct round *round = argument;
    if (unshare(CLONE_FILES) != 0) die("unshare");
    int file = opened(round, O_WRONLY);
    write_at(file, round->content, half);
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    reach(round, halfway);
    usleep(round->pause);
    if (!round->ends) wait_for_death();
    write_at(file, round->content + half, length - half);
    close(file);
    reach(round, saved);
    return NULL;
}
static void run_table(const struct round *round) {
    pthread_t thread;
    pthread_create(&thread, NULL, thread_with_table, (void *)round);
    pthread_join(thread, NULL);
}

static int completed(struct io_uring *ring) {
    struct io_uring_cqe *entry;
    io_uring_submit(ring);
    int result = io_uring_wait_cqe(ring, &entry);
    if (result < 0) return result;
    result = entry->res;
    io_uring_cqe_seen(ring, entry);
    return result;
}
static struct io_uring *new_ring(void) {
    struct io_uring *ring = malloc(sizeof *ring);
    if (!ring || (errno = -io_uring_queue_init(8, ring, 0)) != 0) die("io_uring");
    return ring;
}
// Writes through the first of the ring's files.
static void write_through(struct io_uring *ring, const struct round *round, size_t start, size_t end) {
    enum { piece = 4096 };
    for (size_t place = start; place < end; place += piece) {
        struct io_uring_sqe *entry = io_uring_get_sqe(ring);
        io_uring_prep_write(entry, 0, round->content + place, piece, place);
        entry->flags |= IOSQE_FIXED_FILE;
        int result = completed(ring);
        if (result != piece) {
            errno = result < 0 ? -result : EIO;
            die("io_uring write");
        }
    }
}
static void write_by_ring(struct io_uring *ring, const struct round *round) {
    write_through(ring, round, 0, half);
    reach(round, halfway);
    usleep(round->pause);
    if (!round->ends) wait_for_death();
    write_through(ring, round, half, length);
}

// A file that is registered with a ring, its descriptor closed.
static void run_registered(const struct round *round) {
    struct io_uring *ring = new_ring();
    int file = opened(round, O_WRONLY);
    if ((errno = -io_uring_register_files(ring, &file, 1)) != 0) die("register");
    close(file);
    write_by_ring(ring, round);
    reach(round, saved);
    _exit(0);
}

// A file that has never had a descriptor.
static void run_direct(const struct round *round) {
    struct io_uring *ring = new_ring();
    if ((errno = -io_uring_register_files_sparse(ring, 4)) != 0) die("register");
    struct io_uring_sqe *entry = io_uring_get_sqe(ring);
    io_uring_prep_openat_direct(entry, AT_FDCWD, round->path, O_WRONLY | O_TRUNC, 0, 0);
    if ((errno = -completed(ring)) != 0) die("open");
    write_by_ring(ring, round);
    io_uring_prep_close_direct(io_uring_get_sqe(ring), 0);
    if ((errno = -completed(ring)) != 0) die("close");
    reach(round, saved);
    _exit(0);
}

// A mapping outlives the descriptor.
static void run_mapped(const struct round *round) {
    int file = opened(round, O_RDWR);
    if (ftruncate(file, length) != 0) die("ftruncate");
    char *mapped = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) die("mmap");
    close(file);
    memcpy(mapped, round->content, half);
    reach(round, halfway);
    usleep(round->pause);
    if (!round->ends) wait_for_death();
    memcpy(mapped + half, round->content + half, length - half);
    munmap(mapped, length);
    _exit(0);
}

// Nobody but root may look at the saver.
static void run_nondumpable(const struct round *round) {
    prctl(PR_SET_DUMPABLE, 0);
    int file = opened(round, O_WRONLY);
    write_at(file, round->content, half);
    reach(round, halfway);
    usleep(round->pause);
    if (!round->ends) wait_for_death();
    write_at(file, round->content + half, length - half);
    close(file);
    reach(round, saved);
    wait_for_death();
}

enum sight {
    // The new version is there when the saver has said that it is saved.
    when_told,
    // When the process has ended.
    when_ended,
    // When the kernel has let go of the file, which nobody is told.
    in_the_end,
};
static const struct {
    const char *name;
    void (*run)(const struct round *round);
    enum sight sight;
} forms[] = {
    {"shell", run_shell, in_the_end},           {"writing-shell", run_writing_shell, in_the_end},
    {"table", run_table, when_told},            {"registered", run_registered, in_the_end},
    {"direct", run_direct, in_the_end},         {"mapped", run_mapped, when_ended},
    {"nondumpable", run_nondumpable, when_told},
};

static volatile sig_atomic_t told;
static void tell(int number) { told = number; }

// ended PATH ROUNDS FORM killed|ends: what readers see meanwhile and afterwards.
int ended_savers(int count, char **arguments) {
    if (count != 4) return 2;
    size_t form = 0;
    while (form < sizeof forms / sizeof forms[0] && strcmp(forms[form].name, arguments[2]) != 0) form++;
    if (form == sizeof forms / sizeof forms[0]) return 2;
    signal(SIGUSR1, tell);
    char *content = malloc(length);
    volatile int *stage = shared_memory(4096);
    unsigned seed = 7;
    long rounds = atol(arguments[1]), old = 0, new = 0, torn_reads = 0, late = 0, failed = 0;
    double latest = 0;
    struct round round = {
        .path = arguments[0], .content = content, .stage = stage, .ends = strcmp(arguments[3], "ends") == 0, .pause = 2000};
    for (long number = 1; number <= rounds; number++) {
        fill_version(content, 2 * number, length);
        int file = open(round.path, O_WRONLY | O_CREAT | O_TRUNC, 0644), all[2];
        if (file < 0 || pipe(all) != 0) die(round.path);
        write_at(file, content, length);
        if (close(file) != 0) die("close");
        fill_version(content, 2 * number + 1, length);
        *stage = begun;
        told = 0;
        pid_t saver = fork();
        if (saver == 0) {
            close(all[0]);
            struct rlimit no_core = {0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            forms[form].run(&round);
            _exit(0);
        }
        close(all[1]);
        uint64_t seen = 0;
        int status = 0;
        // Reads all the time, until the save is over.
        int is_over = 0;
        while (!is_over) {
            int has_ended = waitpid(saver, &status, WNOHANG) == saver;
            is_over = has_ended || (forms[form].sight == when_told && *stage == saved);
            if (has_ended) saver = 0;
            if (is_over) break;
            if (reader_named("read")(round.path, &seed, &seen) != whole) torn_reads++;
            if (!round.ends && (*stage == halfway || told)) {
                usleep(rand_r(&seed) % 3000);
                kill(saver, SIGKILL);
                waitpid(saver, &status, 0);
                saver = 0;
                is_over = 1;
            }
        }
        if (!WIFSIGNALED(status) && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) failed++;
        double end = seconds_now(), limit = round.ends ? 10 : 0.02, took = 0;
        if (!round.ends) {
            // Until the last of those has ended that it has started.
            char nothing;
            while (read(all[0], &nothing, 1) < 0 && errno == EINTR) {}
            end = seconds_now();
        }
        uint64_t older = 2 * number, newer = older + 1;
        enum read_outcome outcome = whole;
        for (int looks = 0; took < limit; looks++) {
            if (looks) usleep(200);
            outcome = reader_named("read")(round.path, &seed, &seen);
            took = seconds_now() - end;
            if (outcome != whole) torn_reads++;
            int is_expected = outcome == whole && seen == (round.ends ? newer : older);
            if (round.ends && looks == 0 && !is_expected && forms[form].sight != in_the_end) late++;
            if (round.ends == is_expected) break;
        }
        if (round.ends && took > latest) latest = took;
        if (outcome == whole && seen == older) old++;
        if (outcome == whole && seen == newer) new++;
        if (saver) {
            kill(saver, SIGKILL);
            waitpid(saver, NULL, 0);
        }
        close(all[0]);
    }
    printf("old %ld new %ld half %ld late %ld failed %ld\n", old, new, torn_reads, late, failed);
    fprintf(stderr, "the latest after %.1f ms\n", latest * 1000);
    return 0;
}
