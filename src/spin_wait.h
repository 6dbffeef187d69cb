/*-------------------------------------------------------------------------
 *
 * spin_wait.h
 *	  The pause of a spinning processor, and who may spin for how long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_SPIN_WAIT_H
#define LWTUNE_SPIN_WAIT_H

#include "local.h"
#include "storage/lwlock.h"

LWTUNE_BEGIN_LOCAL

/*
 * Tell the processor that this is a spin-wait, so many times.
 */
static inline void
spin_pause(uint32 n)
{
	while (n-- > 0)
	{
#if defined(__x86_64__)
		__asm__ __volatile__("pause" ::: "memory");
#elif defined(__aarch64__)
		__asm__ __volatile__("isb" ::: "memory");
#else
#error "how does this architecture pause?"
#endif
	}
}

/* One wait that spins. */
typedef struct SpinWait
{
	uint32		budget;			/* pauses; 0 is not to spin */
	uint32		spent;			/* pauses */
	uint32		step;			/* pauses before the next look */
	bool		exploring;
	pg_atomic_uint32 *spinners; /* where it is counted meanwhile */
} SpinWait;

/* May this process spin for the lock now, and how long? */
extern void spin_begin(LWLock *lock, SpinWait *spin);

/* It did; tell whether that was enough. */
extern void spin_end(LWLock *lock, SpinWait *spin, bool success);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_SPIN_WAIT_H */
