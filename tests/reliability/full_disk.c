/* Refuses the FULL_AT-th write to a regular file, half of it having been written, and all later ones: the disk is full.
   Without FULL_AT it appends a byte to the file WRITES for each write. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long writes;

ssize_t write(int file, const void *data, size_t size) {
    struct stat status;
    if (size && !fstat(file, &status) && S_ISREG(status.st_mode)) {
        const char *at = getenv("FULL_AT"), *log = getenv("WRITES");
        long number = __atomic_add_fetch(&writes, 1, __ATOMIC_SEQ_CST);
        if (at && number >= atol(at)) {
            if (number == atol(at) && size > 1) return syscall(SYS_write, file, data, size / 2);
            errno = ENOSPC;
            return -1;
        }
        if (!at && log) {
            int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
            syscall(SYS_write, out, ".", 1);
            close(out);
        }
    }
    return syscall(SYS_write, file, data, size);
}
