// Savers and readers of one document, for the tests of saves. Prints what was found, in one line.
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "exercises.h"

static const struct {
    const char *name;
    int (*run)(int count, char **arguments);
    const char *usage;
} commands[] = {
    {"torn", torn_reads, "PATH SAVERS READS LARGEST PAUSE READER..."},
    {"killed", killed_savers, "PATH COUNT STYLE PAUSE SIGNAL..."},
    {"ended", ended_savers, "PATH ROUNDS FORM killed|ends"},
    {"threads", saving_threads, "PATH THREADS SAVES"},
    {"version", one_version, "PATH [NUMBER LENGTH]"},
    {"check", check_versions, "PATH..."},
    {"loop", endless_saver, "PATH LARGEST PAUSE"},
    {"opens", concurrent_opens, "PATH COUNT PROCESSES"},
    {"attributes", concurrent_attributes, "PATH COUNT"},
    {"stream", opened_amid_stream, "PATH BESIDE MEGABYTES OPENERS"},
    {"times", times_amid_close, "PATH COUNT"},
    {"renamed", renamed_and_truncated, "PATH COUNT"},
    {"seen", seen_when_closed, "PATH COUNT STORED"},
};

int main(int count, char **arguments) {
    // A package's programs are linked with Swift's runtime, whose handlers start another program when this one crashes.
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGQUIT};
    for (size_t place = 0; place < sizeof crashes / sizeof crashes[0]; place++) signal(crashes[place], SIG_DFL);
    int status = 2;
    for (size_t place = 0; place < sizeof commands / sizeof commands[0]; place++)
        if (count > 1 && strcmp(commands[place].name, arguments[1]) == 0) status = commands[place].run(count - 2, arguments + 2);
    if (status == 2)
        for (size_t place = 0; place < sizeof commands / sizeof commands[0]; place++)
            fprintf(stderr, "usage: SaveExerciser %s %s\n", commands[place].name, commands[place].usage);
    return status;
}
