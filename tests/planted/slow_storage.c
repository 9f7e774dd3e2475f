/* Storage that is slow on purpose: put before the C library with LD_PRELOAD.
 *
 * SLOW_SYNC_US delays every fsync and fdatasync, SLOW_READ_US every read of a block. The calls
 * themselves are the real ones, so what the server promises stays promised. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static void wait_us(const char *variable) {
    const char *value = getenv(variable);
    if (value != NULL)
        usleep((useconds_t)atoi(value));
}

int fsync(int file) {
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_us("SLOW_SYNC_US");
    return real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_us("SLOW_SYNC_US");
    return real(file);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (real == NULL)
        real = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    wait_us("SLOW_READ_US");
    return real(file, bytes, length, at);
}

ssize_t pread(int file, void *bytes, size_t length, off_t at) {
    return pread64(file, bytes, length, at);
}

ssize_t preadv64(int file, const struct iovec *parts, int count, off64_t at) {
    static ssize_t (*real)(int, const struct iovec *, int, off64_t);
    if (real == NULL)
        real = (ssize_t (*)(int, const struct iovec *, int, off64_t))dlsym(RTLD_NEXT, "preadv64");
    wait_us("SLOW_READ_US");
    return real(file, parts, count, at);
}

ssize_t preadv(int file, const struct iovec *parts, int count, off_t at) {
    return preadv64(file, parts, count, at);
}
