/*-------------------------------------------------------------------------
 *
 * moved_shmem.c
 *	  Has the server's new shared memory lie elsewhere than the old one: for
 *	  LD_PRELOAD.
 *
 * After a crash the postmaster unmaps its shared memory and maps a new one,
 * for which the kernel picks the place that has just become free; so a pointer
 * that was kept works by chance.  Here a large mapping is not given back, but
 * made inaccessible where it lies.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* larger than what anything else unmaps, smaller than any shared memory */
#define LARGE ((size_t) 4 * 1024 * 1024)

int
munmap(void *address, size_t length)
{
	if (length >= LARGE)
		return mmap(address, length, PROT_NONE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED ? -1 : 0;
	return (int) syscall(SYS_munmap, address, length);
}
