// Savers that are killed while they save.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exercises.h"
#include "reader.h"
#include "saver.h"
#include "version.h"

enum { other_user = 61001, pieces = 8 };

static const struct {
    const char *name;
    int number;
    // The process does this to itself, at a piece of its save; who watches sends the others, at any time.
    int is_crash;
} signals[] = {
    {"KILL", SIGKILL, 0}, {"TERM", SIGTERM, 0}, {"INT", SIGINT, 0},   {"HUP", SIGHUP, 0},     {"SEGV", SIGSEGV, 1},
    {"ABRT", SIGABRT, 1}, {"BUS", SIGBUS, 1},   {"ILL", SIGILL, 1},   {"FPE", SIGFPE, 1},     {"SYS", SIGSYS, 1},
    {"TRAP", SIGTRAP, 1}, {"QUIT", SIGQUIT, 0}, {"ALRM", SIGALRM, 0}, {"USR1", SIGUSR1, 0},   {"USR2", SIGUSR2, 0},
    {"XCPU", SIGXCPU, 1}, {"RTMIN", 0, 0},      {"IO", SIGIO, 0},     {"VTALRM", SIGVTALRM, 0},
};

static int signal_named(const char *name, int *is_crash) {
    for (size_t place = 0; place < sizeof signals / sizeof signals[0]; place++)
        if (strcmp(signals[place].name, name) == 0) {
            *is_crash = signals[place].is_crash;
            return signals[place].number ? signals[place].number : SIGRTMIN;
        }
    return 0;
}

// What the saver is to do, in the saver.
static struct save current;
static unsigned current_seed;
static int raised, raised_at, changes_user, leaves_namespace;

static void after_piece(unsigned piece) {
    if (changes_user && piece == 0 && setresuid(other_user, other_user, other_user) != 0) die("setresuid");
    if (leaves_namespace && piece == 0 && unshare(CLONE_NEWUSER) != 0) die("unshare");
    if (raised && (int)piece == raised_at) raise(raised);
}
static void *run_save(void *unused) {
    int failure = save_version(&current, &current_seed);
    if (failure) {
        errno = failure;
        die(current.path);
    }
    return unused;
}
static void *idle(void *unused) {
    for (;;) usleep(100);
    return unused;
}

static void save_and_die(const char *style) {
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    current.after_piece = after_piece;
    if (strcmp(style, "nondumpable") == 0) prctl(PR_SET_DUMPABLE, 0);
    if (strcmp(style, "setuid") == 0) changes_user = 1;
    if (strcmp(style, "namespace") == 0) leaves_namespace = 1;
    if (strcmp(style, "other") == 0 && setresuid(other_user, other_user, other_user) != 0) die("setresuid");
    if (strcmp(style, "exits") == 0) current.stays_open = 1;
    if (strcmp(style, "threads") == 0) {
        pthread_t threads[3];
        for (int place = 0; place < 2; place++) pthread_create(&threads[place], NULL, idle, NULL);
        pthread_create(&threads[2], NULL, run_save, NULL);
        pthread_join(threads[2], NULL);
        exit(0);
    }
    run_save(NULL);
    // Leaves the file to the kernel, if it is open.
    _exit(0);
}

// killed PATH COUNT STYLE PAUSE SIGNAL...: COUNT savers one after the other, each killed by the next of the signals.
int killed_savers(int count, char **arguments) {
    if (count < 5) return 2;
    const char *path = arguments[0], *style = arguments[2];
    long rounds = atol(arguments[1]), old = 0, new = 0, mixed = 0, lost = 0, published = 0, failed = 0;
    int exits = strcmp(style, "exits") == 0, wrong_signal = 0;
    int acts_after_piece = strcmp(style, "setuid") == 0 || strcmp(style, "namespace") == 0;
    volatile int *stage = shared_memory(4096);
    unsigned seed = 42;
    for (long round = 0; round < rounds; round++) {
        int is_crash = 0, number = signal_named(arguments[4 + round % (count - 4)], &is_crash);
        if (!number) return 2;
        struct save before = {.path = path, .number = 2 * round + 1, .length = random_length(&seed, 1 << 16), .pieces = 2};
        if ((errno = save_version(&before, &seed)) != 0) die(path);
        current = (struct save){
            .path = path,
            .number = 2 * round + 2,
            .length = random_length(&seed, 1 << 17) + (16 << 10),
            .way = exits || acts_after_piece ? in_pieces : is_crash ? round % 2 : round % save_ways,
            .pieces = pieces,
            .pause = atoi(arguments[3]),
            .stage = stage,
        };
        // A file that is extended to be mapped, by a descriptor that came by no path, is live.
        if (current.way == by_mapping && start_wanted() == reopened) current.way = in_pieces;
        *stage = before_save;
        raised = is_crash && !exits ? number : 0;
        raised_at = rand_r(&seed) % pieces;
        current_seed = rand_r(&seed);
        pid_t saver = fork();
        if (saver == 0) save_and_die(style);
        if (!exits && !is_crash) {
            if (rand_r(&seed) % 8) while (*stage == before_save) usleep(50);
            usleep(rand_r(&seed) % (pieces * current.pause / 2 + 1));
            kill(saver, number);
        }
        int status;
        waitpid(saver, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0) failed++;
        if (WIFSIGNALED(status) && WTERMSIG(status) != number) wrong_signal = WTERMSIG(status);

        uint64_t seen = 0;
        int must_be_new = exits || *stage == saved, must_be_old = !exits && *stage < closing;
        enum read_outcome outcome = reader_named("read")(path, &seed, &seen);
        // Where the daemon cannot see who holds a file, the kernel's late RELEASE publishes it.
        for (int wait = 0; wait < 100 && must_be_new && outcome == whole && seen == before.number; wait++) {
            usleep(5000);
            outcome = reader_named("read")(path, &seed, &seen);
        }
        if (outcome != whole || (seen != before.number && seen != current.number)) mixed++;
        else if (must_be_new && seen != current.number) lost++;
        else if (must_be_old && seen != before.number) published++;
        if (seen == current.number) new++;
        else old++;
    }
    printf("mixed %ld lost %ld published %ld failed %ld\n", mixed, lost, published, failed);
    if (wrong_signal) printf("died of signal %d\n", wrong_signal);
    if (exits ? new < rounds : old * 4 < rounds) printf("too few: old %ld new %ld\n", old, new);
    fprintf(stderr, "old %ld new %ld\n", old, new);
    return 0;
}
