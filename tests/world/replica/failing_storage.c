/* Preloaded into a process: its storage fails while a file exists, as that of a machine does.
 *
 * FAILING_STORAGE_ROOT    only files below this directory are concerned
 * FAILING_STORAGE_SWITCH  this file says what fails: "force" (fsync gives EIO), "space" (files do not grow: ENOSPC)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char fault(void)
{
    const char *path = getenv("FAILING_STORAGE_SWITCH");
    char word = 0;
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return 0;
    if (read(file, &word, 1) != 1)
        word = 0;
    close(file);
    return word;
}

static int is_concerned(int file)
{
    const char *root = getenv("FAILING_STORAGE_ROOT");
    char link[64], path[4096];
    ssize_t length;
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (root == NULL || length <= 0)
        return 0;
    path[length] = 0;
    return strncmp(path, root, strlen(root)) == 0;
}

static int fails(int file, char word)
{
    int saved = errno, found = fault() == word && is_concerned(file);
    errno = saved;
    return found;
}

static int grows(int file, off_t end)
{
    struct stat state;
    return fstat(file, &state) == 0 && S_ISREG(state.st_mode) && (end < 0 || end > state.st_size);
}

#define REAL(name, type) static type real; if (!real) real = (type)dlsym(RTLD_NEXT, name)

typedef int (*force_type)(int);
typedef ssize_t (*write_type)(int, const void *, size_t);
typedef ssize_t (*pwrite_type)(int, const void *, size_t, off_t);
typedef ssize_t (*pwritev_type)(int, const struct iovec *, int, off_t);
typedef int (*allocate_type)(int, off_t, off_t);

#define FORCE(name) \
    int name(int file) \
    { \
        REAL(#name, force_type); \
        if (fails(file, 'f')) { \
            errno = EIO; \
            return -1; \
        } \
        return real(file); \
    }
FORCE(fsync)
FORCE(fdatasync)

ssize_t write(int file, const void *data, size_t size)
{
    REAL("write", write_type);
    if (fails(file, 's') && grows(file, -1)) {
        errno = ENOSPC;
        return -1;
    }
    return real(file, data, size);
}

#define PWRITE(name) \
    ssize_t name(int file, const void *data, size_t size, off_t offset) \
    { \
        REAL(#name, pwrite_type); \
        if (fails(file, 's') && grows(file, offset + (off_t)size)) { \
            errno = ENOSPC; \
            return -1; \
        } \
        return real(file, data, size, offset); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PWRITEV(name) \
    ssize_t name(int file, const struct iovec *parts, int count, off_t offset) \
    { \
        off_t end = offset; \
        REAL(#name, pwritev_type); \
        for (int at = 0; at < count; at++) \
            end += (off_t)parts[at].iov_len; \
        if (fails(file, 's') && grows(file, end)) { \
            errno = ENOSPC; \
            return -1; \
        } \
        return real(file, parts, count, offset); \
    }
PWRITEV(pwritev)
PWRITEV(pwritev64)

#define ALLOCATE(name) \
    int name(int file, off_t offset, off_t size) \
    { \
        REAL(#name, allocate_type); \
        return fails(file, 's') && grows(file, offset + size) ? ENOSPC : real(file, offset, size); \
    }
ALLOCATE(posix_fallocate)
ALLOCATE(posix_fallocate64)
