/* Preloaded into a server to make this disk as slow as a user's may be: every fsync and fdatasync takes a millisecond more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_a_millisecond(void)
{
    struct timespec pause = { 0, 1000000 };
    nanosleep(&pause, 0);
}

int fsync(int descriptor)
{
    static int (*next)(int);
    if (!next)
        next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_a_millisecond();
    return next(descriptor);
}

int fdatasync(int descriptor)
{
    static int (*next)(int);
    if (!next)
        next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_a_millisecond();
    return next(descriptor);
}
