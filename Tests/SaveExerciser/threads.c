// Threads of one process that save one document.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises.h"
#include "saver.h"
#include "version.h"

static const char *path;
static atomic_long left, failed;
static atomic_int first_errno;

static void *keep_saving(void *argument) {
    unsigned seed = (unsigned)(size_t)argument;
    long number;
    while ((number = atomic_fetch_sub(&left, 1)) > 0) {
        struct save save = {.path = path, .number = number, .length = smallest_version, .pieces = 2, .pause = number % 8 ? 0 : 500};
        int failure = save_version(&save, &seed);
        if (failure) {
            int none = 0;
            atomic_compare_exchange_strong(&first_errno, &none, failure);
            failed++;
        }
    }
    return NULL;
}

// threads PATH THREADS SAVES
int saving_threads(int count, char **arguments) {
    if (count != 3) return 2;
    path = arguments[0];
    int threads = atoi(arguments[1]);
    left = atol(arguments[2]);
    pthread_t made[threads];
    for (int place = 0; place < threads; place++) pthread_create(&made[place], NULL, keep_saving, (void *)(size_t)(place + 1));
    for (int place = 0; place < threads; place++) pthread_join(made[place], NULL);
    printf("failed %ld", (long)failed);
    if (failed) printf(", first: %s", strerror(first_errno));
    printf("\n");
    return 0;
}
