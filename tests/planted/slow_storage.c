/* Storage that is slow on purpose: put before the C library with LD_PRELOAD.
 *
 * SLOW_SYNC_US is what every fsync and fdatasync takes; SLOW_READ_US delays every read of a block,
 * SLOW_WAL_NS_A_BYTE every write into PostgreSQL's WAL, by its length. No sync reaches the machine's
 * own disk: a cause that is planted must be the same on every machine, and none of these servers has
 * to outlive a power cut. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static void wait_us(const char *variable) {
    const char *value = getenv(variable);
    if (value != NULL)
        usleep((useconds_t)atoi(value));
}

static int is_wal(int file) {
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return strstr(path, "/pg_wal/") != NULL;
}

static void wait_to_write(int file, size_t length) {
    const char *value = getenv("SLOW_WAL_NS_A_BYTE");
    if (value != NULL && is_wal(file))
        usleep((useconds_t)(length * (size_t)atoi(value) / 1000));
}

int fsync(int file) {
    (void)file;
    wait_us("SLOW_SYNC_US");
    return 0;
}

int fdatasync(int file) {
    return fsync(file);
}

int sync_file_range(int file, off64_t from, off64_t length, unsigned int flags) {
    (void)file, (void)from, (void)length, (void)flags;
    return 0;
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

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (real == NULL)
        real = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    wait_to_write(file, length);
    return real(file, bytes, length, at);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
    return pwrite64(file, bytes, length, at);
}
