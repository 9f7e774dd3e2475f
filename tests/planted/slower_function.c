/* A server of which one exported function got slower: put before the C library with LD_PRELOAD.
 *
 * Each call of send() takes SLOWER_NS more of CPU time; a server calls it once for each reply. How
 * many turns of a loop that is was measured when the server was started. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static const long MEASURED_TURNS = 10000000;
static long turns;

static double used_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

__attribute__((constructor)) static void measure(void) {
    const char *value = getenv("SLOWER_NS");
    double began_ns = used_ns();
    for (volatile long left = MEASURED_TURNS; left > 0; left--)
        ;
    turns = (value ? atof(value) : 0.0) * MEASURED_TURNS / (used_ns() - began_ns);
}

ssize_t send(int socket, const void *bytes, size_t length, int flags) {
    static ssize_t (*real)(int, const void *, size_t, int);
    if (real == NULL)
        real = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    for (volatile long left = turns; left > 0; left--)
        ;
    return real(socket, bytes, length, flags);
}
